// Kernels of the samples in this folder: y = x * w + b, element by element, in f32.
extern "C" __global__ void exact(const float *x, const float *w, const float *b, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float value = __fadd_rn(__fmul_rn(x[i], w[i]), b[i]);
    y[i] = value;
  }
}

// nvcc makes one fma of this.
extern "C" __global__ void contracted(const float *x, const float *w, const float *b, float *y,
                                      int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] * w[i] + b[i];
}

// Two operations in the PTX, which ptxas may make one of: they have no rounding modifier.
extern "C" __global__ void unrounded(const float *x, const float *w, const float *b, float *y,
                                     int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float product, sum;
    asm("mul.f32 %0, %1, %2;" : "=f"(product) : "f"(x[i]), "f"(w[i]));
    asm("add.f32 %0, %1, %2;" : "=f"(sum) : "f"(product), "f"(b[i]));
    y[i] = sum;
  }
}
