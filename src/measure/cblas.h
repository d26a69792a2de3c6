// A CBLAS loaded at run time. The program does not link one; without one, the ratio to the
// unfused path is not reported.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace headlight::measure {

class Cblas {
 public:
  // A library by file name ("libblis.so.4"), or the first one installed if the name is empty:
  // OpenBLAS, BLIS, then libblas.so.3. oneDNN has the same function under another name
  // and is used when requested. Null if there is none, or under a limit of less than 4 GB of memory.
  [[nodiscard]] static std::unique_ptr<Cblas> load(const std::string& library = {});
  ~Cblas();
  Cblas(const Cblas&) = delete;
  Cblas& operator=(const Cblas&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }  // "OpenBLAS 0.3.21 …"

  // For later calls. Returns false, without effect, for a library without such a function.
  bool set_threads(int threads) const;

  enum class Transpose { no, yes };
  // c [rows, columns] = alpha · a [rows, inner] · b, b [inner, columns], or its transpose in memory.
  // All row-major; ld is the distance between two rows.
  struct Matrix {
    const float* data;
    int ld;
  };
  void sgemm(Transpose transpose_b, int rows, int columns, int inner, float alpha, Matrix a, Matrix b,
             float* c, int ldc) const;

 private:
  Cblas() = default;
  using Sgemm = void (*)(int order, int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda,
                         const float* b, int ldb, float beta, float* c, int ldc);
  using DnnlSgemm = int (*)(char ta, char tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                            const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta,
                            float* c, std::int64_t ldc);
  std::string name_;
  Sgemm sgemm_ = nullptr;  // one of the two is set
  DnnlSgemm dnnl_sgemm_ = nullptr;
  void (*set_int_)(int) = nullptr;    // OpenBLAS, MKL
  void (*set_long_)(long) = nullptr;  // BLIS: its dim_t
};

}  // namespace headlight::measure
