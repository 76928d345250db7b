"""PyTorch's own attention, which runs on a CPU; vLLM-Omni calls it on named accelerators only."""

from vllm_omni.diffusion.attention.backends.sdpa import SDPABackend, SDPAImpl


class CpuAttention(SDPAImpl):
    def forward(self, query, key, value, attn_metadata=None):
        return self.forward_cuda(query, key, value, attn_metadata)


class CpuAttentionBackend(SDPABackend):
    @staticmethod
    def get_impl_cls():
        return CpuAttention
