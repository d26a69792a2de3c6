// The operator against golden/attention: out, lse and gradients that independent implementations computed in float64 and
// stored as float32. Those of tests/golden use every option.
#include <simdjson.h>

#include <cmath>
#include <map>

#include "attention/golden_suites.h"
#include "support/safetensors_reader.h"
#include "support/shared_data.h"
#include "support/slices.h"

namespace headlight::testing {
namespace {

// What cases.json says of a case, with the tensors it refers to.
struct GoldenCase {
  std::map<std::string, Tensor> tensors;
  std::vector<Index> k_lengths;
  Tensor mask;
  AttentionOptions options;
  double hardness = 0;  // an upper bound of |scale|·Σ|q||k| + |bias| + slope·distance, over all rows
  Index keys = 0;

  [[nodiscard]] const Tensor& at(const std::string& name) const { return tensors.at(name); }
};

double largest(const Tensor& x) {
  double most = 0;
  const ConstTensorView flat(x.as<float>(), {x.shape().elements()});
  for (Index i = 0; i < flat.dim(0); ++i) {
    if (std::isfinite(flat.at(i))) most = std::max(most, std::abs(flat.at(i)));
  }
  return most;
}

double largest_norm(const Tensor& x) {
  double most = 0;
  const ConstTensorView rows(x.as<float>(), {x.shape().elements() / x.dim(3), x.dim(3)});
  for (Index i = 0; i < rows.dim(0); ++i) {
    double norm = 0;
    for (Index d = 0; d < rows.dim(1); ++d) norm += rows.at(i, d) * rows.at(i, d);
    most = std::max(most, std::sqrt(norm));
  }
  return most;
}

void read_case(const std::filesystem::path& path, GoldenCase& golden) {
  golden.tensors = read_safetensors(path.string() + ".safetensors");
  simdjson::dom::parser parser;
  const simdjson::dom::element about =
      parser.load((path.parent_path() / "cases.json").string())[path.filename().string()];
  AttentionOptions& o = golden.options;
  o.scale = about["scale"].get_double().value();
  o.visible.offset = about["query_offset"].get_int64().value();
  if (about["causal"].get_bool().value()) o.visible.right = 0;
  if (!about["window"].is_null()) o.visible.left = about["window"].get_int64().value() - 1;
  if (simdjson::dom::element prefix; about["prefix"].get(prefix) == simdjson::SUCCESS && !prefix.is_null())
    o.visible.prefix = prefix.get_int64().value();
  if (!about["softcap"].is_null()) o.softcap = about["softcap"].get_double().value();
  if (!about["kv_len"].is_null()) {
    for (const std::int64_t n : about["kv_len"].get_array()) golden.k_lengths.push_back(n);
    o.k_lengths = golden.k_lengths;
  }
  const Tensor &q = golden.at("q"), &k = golden.at("k");
  golden.keys = k.dim(2);
  golden.hardness = std::abs(*o.scale) * largest_norm(q) * largest_norm(k);
  if (golden.tensors.count("bias") != 0) {
    o.bias = golden.at("bias");
    golden.hardness += largest(golden.at("bias"));
  }
  if (golden.tensors.count("alibi_slopes") != 0) {
    o.alibi_slopes = golden.at("alibi_slopes");
    golden.hardness += largest(golden.at("alibi_slopes")) * static_cast<double>(golden.keys);
  }
  if (golden.tensors.count("sinks") != 0) {
    o.sinks = golden.at("sinks");
    golden.hardness += largest(golden.at("sinks"));
  }
  if (golden.tensors.count("mask") != 0) {
    const Tensor& mask = golden.at("mask");
    golden.mask = Tensor(mask.shape(), DType::boolean);
    for (Index i = 0; i < mask.shape().elements(); ++i) golden.mask.as<bool>()[i] = mask.as<float>()[i] != 0;
    o.mask = golden.mask;
  }
}

Tensor converted(const Tensor& x, DType dtype) {
  const ConstTensorView from(x.as<float>(), {x.shape().elements()});
  std::vector<double> values;
  for (Index i = 0; i < from.dim(0); ++i) values.push_back(from.at(i));
  return Tensor::from(values, x.shape(), dtype);
}

TEST_P(Golden, OutAndLseAreAsStored) {
  const auto& [which, path] = GetParam();
  GoldenCase golden;
  read_case(path, golden);
  const Tensor q = converted(golden.at("q"), which.dtype), k = converted(golden.at("k"), which.dtype),
               v = converted(golden.at("v"), which.dtype);
  AllOutputs found(q, k, v);
  which.run(q, k, v, golden.options, found.views());

  const Tensor &out = golden.at("out"), &lse = golden.at("lse");
  const double u = which.dtype == DType::f64 ? 0x1p-53 : 0x1p-24, stored = 0x1p-24;
  const double rounds = 1 + golden.hardness + std::sqrt(static_cast<double>(golden.keys));
  double size = largest(golden.at("v"));  // A of each element is at most this
  for (Index b = 0; b < q.dim(0); ++b)
    for (Index h = 0; h < q.dim(1); ++h)
      for (Index i = 0; i < q.dim(2); ++i) {
        const double expected = lse.at(b, h, i);
        if (std::isinf(expected)) {
          EXPECT_EQ(found.lse.at(b, h, i), expected);
        } else {
          EXPECT_NEAR(found.lse.at(b, h, i), expected, stored * std::abs(expected) + 4 * u * rounds);
        }
        for (Index d = 0; d < v.dim(3); ++d) {
          const double x = out.at(b, h, i, d);
          const double limit =
              std::isinf(expected) ? 0 : stored * std::abs(x) + 0x1p-149 + 4 * u * rounds * size;
          ASSERT_NEAR(found.out.at(b, h, i, d), x, limit) << b << " " << h << " " << i << " " << d;
        }
        if (golden.tensors.count("probs") == 0) continue;
        for (Index j = 0; j < k.dim(2); ++j) {
          const double p = golden.at("probs").at(b, h, i, j);
          ASSERT_NEAR(found.weights.at(b, h, i, j), p, (stored + 8 * u * rounds) * p + 0x1p-125)
              << b << " " << h << " " << i << " " << j;
        }
      }
}

// Σ|x| of the longest row: what a dot product with entries of at most one can be.
double largest_sum(const Tensor& x) {
  double most = 0;
  const ConstTensorView rows(x.as<float>(), {x.shape().elements() / x.dim(3), x.dim(3)});
  for (Index i = 0; i < rows.dim(0); ++i) {
    double sum = 0;
    for (Index d = 0; d < rows.dim(1); ++d) sum += std::abs(rows.at(i, d));
    most = std::max(most, sum);
  }
  return most;
}

TEST_P(Golden, GradientsAreAsStored) {
  const auto& [which, path] = GetParam();
  GoldenCase golden;
  read_case(path, golden);
  const Tensor q = converted(golden.at("q"), which.dtype), k = converted(golden.at("k"), which.dtype),
               v = converted(golden.at("v"), which.dtype), dout = converted(golden.at("dout"), which.dtype);
  AllOutputs saved(q, k, v);
  which.run(q, k, v, golden.options, saved.views());
  AllGradients found(q, k, v);
  which.backward({q, k, v, saved.out, saved.lse}, dout, golden.options, found.views());

  const double u = which.dtype == DType::f64 ? 0x1p-53 : 0x1p-24, stored = 0x1p-24;
  const double rounds = 1 + golden.hardness + std::sqrt(static_cast<double>(golden.keys));
  // The weights of a row sum to one, those of a column to at most the rows that see it.
  const double rows = static_cast<double>(q.dim(2) * (q.dim(1) / k.dim(1)));
  const double dscore =
      2 * largest_sum(golden.at("dout")) * largest(golden.at("v")) * std::abs(*golden.options.scale);
  const auto check = [&](const char* what, const Tensor& x, double size) {
    const Tensor& expected = golden.at(what);
    ASSERT_EQ(expected.shape(), x.shape());
    for (Index b = 0; b < x.dim(0); ++b)
      for (Index h = 0; h < x.dim(1); ++h)
        for (Index i = 0; i < x.dim(2); ++i)
          for (Index d = 0; d < x.dim(3); ++d) {
            const double y = expected.at(b, h, i, d);
            ASSERT_NEAR(x.at(b, h, i, d), y, stored * std::abs(y) + 0x1p-149 + 4 * u * rounds * size)
                << what << " " << b << " " << h << " " << i << " " << d;
          }
  };
  check("dq", found.dq, dscore * largest(golden.at("k")));
  check("dk", found.dk, dscore * largest(golden.at("q")) * std::sqrt(rows));
  check("dv", found.dv, largest(golden.at("dout")) * std::sqrt(rows));
}

// Of the options that have gradients: summed over all rows that they act on.
TEST_P(Golden, GradientsOfOptionsAreAsStored) {
  const auto& [which, path] = GetParam();
  GoldenCase golden;
  read_case(path, golden);
  const Tensor q = converted(golden.at("q"), which.dtype), k = converted(golden.at("k"), which.dtype),
               v = converted(golden.at("v"), which.dtype), dout = converted(golden.at("dout"), which.dtype);
  AllOutputs saved(q, k, v);
  which.run(q, k, v, golden.options, saved.views());
  AllGradients found(q, k, v);
  AttentionGrads grads = found.views();
  const DType type = saved.lse.dtype();
  std::map<std::string, Tensor> own;
  for (const char* name : {"dbias", "dsinks"})
    if (golden.tensors.count(name) != 0) own.emplace(name, Tensor(golden.at(name).shape(), type));
  if (own.count("dbias") != 0) grads.dbias = own.at("dbias");
  if (own.count("dsinks") != 0) grads.dsinks = own.at("dsinks");
  which.backward({q, k, v, saved.out, saved.lse}, dout, golden.options, grads);
  const double u = which.dtype == DType::f64 ? 0x1p-53 : 0x1p-24, stored = 0x1p-24;
  const double size = 2 * largest_sum(golden.at("dout")) * largest(golden.at("v")) *
                      static_cast<double>(q.dim(0) * q.dim(1) * q.dim(2));
  for (const auto& [name, tensor] : own) {
    const Tensor& wanted = golden.at(name);
    for (Index i = 0; i < wanted.shape().elements(); ++i) {
      const double x =
          tensor.dtype() == DType::f64 ? tensor.as<double>()[i] : static_cast<double>(tensor.as<float>()[i]);
      const auto y = static_cast<double>(wanted.as<float>()[i]);
      ASSERT_NEAR(x, y, stored * std::abs(y) + 4 * u * (1 + golden.hardness) * size) << name << " " << i;
    }
  }
}

// Rows that see nothing, and what only they could reach, have gradients of exactly 0.
TEST_P(Golden, RowsThatSeeNothingHaveNoGradient) {
  const auto& [which, path] = GetParam();
  GoldenCase golden;
  read_case(path, golden);
  const Tensor q = converted(golden.at("q"), which.dtype), k = converted(golden.at("k"), which.dtype),
               v = converted(golden.at("v"), which.dtype);
  Tensor dout = converted(golden.at("dout"), which.dtype);
  AllOutputs saved(q, k, v);
  which.run(q, k, v, golden.options, saved.views());
  AllGradients before(q, k, v), after(q, k, v);
  which.backward({q, k, v, saved.out, saved.lse}, dout, golden.options, before.views());
  for (Index b = 0; b < q.dim(0); ++b)
    for (Index h = 0; h < q.dim(1); ++h)
      for (Index i = 0; i < q.dim(2); ++i) {
        if (golden.at("lse").at(b, h, i) != -std::numeric_limits<double>::infinity()) continue;
        for (Index d = 0; d < q.dim(3); ++d) EXPECT_EQ(before.dq.at(b, h, i, d), 0);
        for (Index d = 0; d < v.dim(3); ++d) dout.view().set(b, h, i, d, std::nan(""));
      }
  which.backward({q, k, v, saved.out, saved.lse}, dout, golden.options, after.views());
  EXPECT_EQ(bits_of(before.dq.view()), bits_of(after.dq.view()));
  EXPECT_EQ(bits_of(before.dk.view()), bits_of(after.dk.view()));
  EXPECT_EQ(bits_of(before.dv.view()), bits_of(after.dv.view()));
}

INSTANTIATE_TEST_SUITE_P(Oracle, Golden,
                         ::testing::Combine(::testing::Values(reference_implementation()),
                                            ::testing::ValuesIn(golden_cases())),
                         golden_case_name);

}  // namespace
}  // namespace headlight::testing
