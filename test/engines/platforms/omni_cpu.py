"""A platform of vLLM-Omni that is a CPU: it has plug-ins for accelerators, and none for a machine without one."""

import psutil
import torch
from vllm.platforms.cpu import CpuPlatform
from vllm_omni.platforms.interface import OmniPlatform, OmniPlatformEnum


def register():
    return "omni_cpu.CpuOmniPlatform"


class CpuOmniPlatform(OmniPlatform, CpuPlatform):
    _omni_enum = OmniPlatformEnum.OOT

    @classmethod
    def get_omni_ar_worker_cls(cls):
        return "vllm_omni.worker.gpu_ar_worker.GPUARWorker"

    @classmethod
    def get_omni_generation_worker_cls(cls):
        return "vllm_omni.worker.gpu_generation_worker.GPUGenerationWorker"

    @classmethod
    def get_default_stage_config_path(cls):
        return "vllm_omni/deploy"

    @classmethod
    def get_diffusion_attn_backend_cls(cls, selected_backend, head_size, allow_trtllm_default=False):
        return "omni_cpu_attention.CpuAttentionBackend"

    @classmethod
    def supports_torch_inductor(cls):
        return False

    @classmethod
    def supports_cpu_offload(cls):
        return False

    @classmethod
    def get_torch_device(cls, local_rank=None):
        return torch.device("cpu")

    @classmethod
    def get_device_count(cls):
        return 1

    @classmethod
    def get_device_version(cls):
        return None

    @classmethod
    def synchronize(cls):
        return None

    @classmethod
    def empty_cache(cls, *args, **options):
        return None

    @classmethod
    def get_free_memory(cls, device=None):
        return psutil.virtual_memory().available

    @classmethod
    def get_device_memory(cls, device=None):
        memory = psutil.virtual_memory()
        return memory.available, memory.total

    @classmethod
    def reset_peak_memory_stats(cls, *args, **options):
        return None

    @classmethod
    def max_memory_reserved(cls, *args, **options):
        return 0

    @classmethod
    def max_memory_allocated(cls, *args, **options):
        return 0

    @classmethod
    def memory_reserved(cls, *args, **options):
        return 0

    @classmethod
    def memory_allocated(cls, *args, **options):
        return 0

    @classmethod
    def get_current_memory_usage(cls, *args, **options):
        return 0.0
