"""The machine of a measurement: processor, what of it may be used, memory, system. No name of user, host or folder."""

import os
import platform
import time
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from pianobench.experiments.environment import available_cores


@cache
def machine() -> str:
    """CPU model and the cores that may be used, in one line."""
    cores = available_cores()
    return f"{cpu_model()}, {cores} core{'s' if cores != 1 else ''}"


def load() -> float | None:
    """Load average over the last minute, or None where the system keeps none."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def describe() -> dict[str, Any]:
    """All that is known of the machine; None where it does not say."""
    physical, logical = psutil.cpu_count(logical=False), psutil.cpu_count()
    return {
        "cpu": cpu_model(),
        "architecture": platform.machine(),
        "cores_usable": available_cores(),
        "cores_physical": physical,
        "cores_logical": logical,
        "smt": _smt(physical, logical),
        "affinity": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "cpu_quota": cgroup_quota(),
        "governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "os": f"{platform.system()} {platform.release()}",
        "container": _container(),
        "hypervisor": _hypervisor(),
        "clock_resolution": time.get_clock_info("perf_counter").resolution,
    }


def cpu_model() -> str:
    """The processor's name."""
    for line in (_text("/proc/cpuinfo") or "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _smt(physical: int | None, logical: int | None) -> bool | None:
    active = _text("/sys/devices/system/cpu/smt/active")
    if active is not None:
        return active == "1"
    return logical > physical if physical and logical else None


def cgroup_quota(root: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Cores' worth of time that the control group allows, or None where there is no such limit."""
    try:
        if (root / "cpu.max").is_file():
            quota, period = (root / "cpu.max").read_text().split()[:2]
        else:
            folder = root / "cpu"
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
        return None if quota in ("max", "-1") else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _container() -> str | None:
    """What kind of container this is, as far as such things show."""
    for sign, kind in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman")):
        if Path(sign).exists():
            return kind
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes"
    return os.environ.get("container")  # noqa: SIM112  (systemd spells it so)


def _hypervisor() -> bool | None:
    """Whether the processor says that it is a virtual one."""
    info = _text("/proc/cpuinfo")
    return None if info is None else any("hypervisor" in line for line in info.splitlines() if line[:5] == "flags")


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text("utf-8", errors="replace").strip()
    except OSError:
        return None
