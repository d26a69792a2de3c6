// Highway's own dispatch chooses one target for the whole process; here every target has a table, so that
// two Contexts can differ. A file of kernels ends, under HWY_ONCE, with
//
//   const Table& kernels_for(SimdTarget target) { return HEADLIGHT_TABLE_OF(make_table, target); }
#pragma once

#include "headlight/context.h"

namespace headlight::kernels {

// A table is created on first use: creating it runs code of its target, which this CPU may not support.
template <auto make>
[[nodiscard]] const auto& made_once() {
  static const auto table = make();
  return table;
}

template <auto scalar, auto sse4, auto avx2, auto avx512>
[[nodiscard]] const auto& table_of(SimdTarget target) {
  switch (target) {
    case SimdTarget::avx512: return made_once<avx512>();
    case SimdTarget::avx2: return made_once<avx2>();
    case SimdTarget::sse4: return made_once<sse4>();
    default: return made_once<scalar>();
  }
}

}  // namespace headlight::kernels

#if defined(__x86_64__) || defined(__i386__)
#define HEADLIGHT_TABLE_OF(make, target) \
  table_of<N_SCALAR::make, N_SSE4::make, N_AVX2::make, N_AVX3::make>(target)
#else
#define HEADLIGHT_TABLE_OF(make, target) ((void)(target), made_once<HWY_STATIC_DISPATCH(make)>())
#endif
