// Dequantisation, one readable function per block type. The formulas are exact: the same bits on every machine, and those
// of ggml. The kernels implement the same formulas for the types that are multiplied without conversion.
#pragma once

#include <cstddef>

namespace headlight::blocks {

// Converts one block to floats; io/gguf_blocks.h has its sizes in bytes and elements.
void q4_0(const std::byte* b, float* y);
void q4_1(const std::byte* b, float* y);
void q5_0(const std::byte* b, float* y);
void q5_1(const std::byte* b, float* y);
void q8_0(const std::byte* b, float* y);
void q2_k(const std::byte* b, float* y);
void q3_k(const std::byte* b, float* y);
void q4_k(const std::byte* b, float* y);
void q5_k(const std::byte* b, float* y);
void q6_k(const std::byte* b, float* y);
void q8_k(const std::byte* b, float* y);
void iq4_nl(const std::byte* b, float* y);
void iq4_xs(const std::byte* b, float* y);
void mxfp4(const std::byte* b, float* y);
// block_formats_iq.cc
void iq1_s(const std::byte* b, float* y);
void iq1_m(const std::byte* b, float* y);
void iq2_xxs(const std::byte* b, float* y);
void iq2_xs(const std::byte* b, float* y);
void iq2_s(const std::byte* b, float* y);
void iq3_xxs(const std::byte* b, float* y);
void iq3_s(const std::byte* b, float* y);
void tq1_0(const std::byte* b, float* y);
void tq2_0(const std::byte* b, float* y);
void q1_0(const std::byte* b, float* y);
void q2_0(const std::byte* b, float* y);
void nvfp4(const std::byte* b, float* y);

}  // namespace headlight::blocks
