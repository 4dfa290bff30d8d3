"""Lets float32 matrix products (linear and recurrent layers) be computed with fewer bits of their factors."""

NAME = "matmul_precision"
FRAMEWORK = "pytorch"
CHANGES = "precision"
DESCRIPTION = "bits that float32 matrix products read of their factors: high is TF32, medium may be bf16"
LINES = {value: "torch.set_float32_matmul_precision('%s')" % value for value in ("high", "medium")}


def values(seen):
    if seen.device == "cuda":
        if (seen.capability or (0, 0)) < (8, 0):
            return None, "the GPU has no TF32 units (compute capability 8.0)"
        able = ["high", "medium"]
    else:
        able = (["high"] if "amx_fp16" in seen.cpu_flags else []) + (
            ["medium"] if {"amx_bf16", "avx512_bf16"} & seen.cpu_flags else [])
    if not able:
        return None, "the processor has no bf16 instructions (avx512_bf16, amx_bf16)"
    if "set_float32_matmul_precision" in seen.calls or seen.module.get_float32_matmul_precision() != "highest":
        return None, "the script sets the precision of matrix products itself (cuda.matmul.allow_tf32 does that, too)"
    return ["script"] + able, None


def install(value, torch):
    torch.set_float32_matmul_precision(value)
