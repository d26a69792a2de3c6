// "Your journey starts with one step": the worked example of the tutorials with every number, as
// golden/journey.md has it. The numbers are typed here, so that this runs without the shared data.
#include <cmath>
#include <vector>

#include "attention/golden_suites.h"

namespace headlight::testing {
namespace {

using Matrix = std::vector<std::vector<double>>;
constexpr double kInf = std::numeric_limits<double>::infinity();

const Matrix kWords = {{0.43, 0.15, 0.89}, {0.55, 0.87, 0.66}, {0.57, 0.85, 0.64},
                       {0.22, 0.58, 0.33}, {0.77, 0.25, 0.10}, {0.05, 0.80, 0.55}};

// Weights of G2, [in, out].
const Matrix kWq = {{0.29611194, 0.51656228}, {0.25167072, 0.68855679}, {0.07397246, 0.86652195}};
const Matrix kWk = {{0.13657987, 0.10247904}, {0.18405646, 0.72644675}, {0.31525391, 0.68710667}};
const Matrix kWv = {{0.07563531, 0.19663817}, {0.31641197, 0.40174013}, {0.11856830, 0.82739538}};

Matrix times(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), std::vector<double>(b[0].size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b[0].size(); ++j)
      for (std::size_t d = 0; d < b.size(); ++d) c[i][j] += a[i][d] * b[d][j];
  return c;
}

Matrix transposed(const Matrix& a) {
  Matrix b(a[0].size(), std::vector<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[0].size(); ++j) b[j][i] = a[i][j];
  return b;
}

Matrix rows(const Matrix& a, std::size_t begin, std::size_t end) {
  return {a.begin() + static_cast<std::ptrdiff_t>(begin), a.begin() + static_cast<std::ptrdiff_t>(end)};
}

// One batch item whose heads are the given matrices.
Tensor heads(const std::vector<Matrix>& list, DType dtype) {
  std::vector<double> values;
  for (const Matrix& m : list)
    for (const auto& row : m) values.insert(values.end(), row.begin(), row.end());
  return Tensor::from(values,
                      {1, static_cast<Index>(list.size()), static_cast<Index>(list[0].size()),
                       static_cast<Index>(list[0][0].size())},
                      dtype);
}

class Answer {
 public:
  Answer(const Implementation& which, const std::vector<Matrix>& q, const std::vector<Matrix>& k,
         const std::vector<Matrix>& v, const AttentionOptions& options = {})
      : q_(heads(q, which.dtype)), k_(heads(k, which.dtype)), v_(heads(v, which.dtype)), o(q_, k_, v_) {
    which.run(q_, k_, v_, options, o.views());
  }

 private:
  const Tensor q_, k_, v_;

 public:
  AllOutputs o;
};

// Printed digits are good to half a unit; f32 adds its own rounding of inputs and sums.
double tolerance(const Implementation& which, double half_unit) {
  return half_unit * 1.001 + (which.dtype == DType::f64 ? 0 : 1e-6);
}

void expect_rows(const Tensor& found, Index head, const Matrix& expected, double limit) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t j = 0; j < expected[i].size(); ++j) {
      EXPECT_NEAR(found.at(0, head, static_cast<Index>(i), static_cast<Index>(j)), expected[i][j], limit)
          << "row " << i << ", column " << j;
    }
}

void expect_list(const Tensor& found, const std::vector<double>& expected, double limit) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double x = found.at(0, 0, static_cast<Index>(i));
    if (std::isinf(expected[i])) {
      EXPECT_EQ(x, expected[i]) << "entry " << i;
    } else {
      EXPECT_NEAR(x, expected[i], limit) << "entry " << i;
    }
  }
}

const Matrix kG2Weights = {{0.155097, 0.210417, 0.205938, 0.141264, 0.107384, 0.179901},
                           {0.150019, 0.226384, 0.219872, 0.131070, 0.090629, 0.182026},
                           {0.150343, 0.225610, 0.219206, 0.131541, 0.091414, 0.181887},
                           {0.159085, 0.199401, 0.196232, 0.147728, 0.120641, 0.176912},
                           {0.160999, 0.194937, 0.192284, 0.150084, 0.126525, 0.175170},
                           {0.155742, 0.209156, 0.204841, 0.141932, 0.108911, 0.179418}};
const Matrix kG2Out = {{0.299582, 0.805314}, {0.306100, 0.821030}, {0.305781, 0.820296},
                       {0.294766, 0.793866}, {0.292706, 0.789084}, {0.299010, 0.804037}};

TEST_P(Journey, SimpleAttentionWithoutParameters) {  // G1
  const Answer run(GetParam(), {kWords}, {kWords}, {kWords}, {.scale = 1.0});
  const double limit = tolerance(GetParam(), 5e-7);
  expect_rows(run.o.weights, 0,
              {{0.209835, 0.200581, 0.198149, 0.124228, 0.122049, 0.145158},
               {0.138548, 0.237891, 0.233274, 0.123992, 0.108182, 0.158114},
               {0.139008, 0.236921, 0.232602, 0.124204, 0.110800, 0.156464},
               {0.143527, 0.207394, 0.204552, 0.146192, 0.126295, 0.172039},
               {0.152611, 0.195839, 0.197491, 0.136687, 0.187859, 0.129514},
               {0.138471, 0.218364, 0.212759, 0.142048, 0.098806, 0.189552}},
              limit);
  expect_rows(run.o.out, 0,
              {{0.442059, 0.593099, 0.578989},
               {0.441866, 0.651482, 0.568309},
               {0.443128, 0.649595, 0.567073},
               {0.430390, 0.629828, 0.551027},
               {0.467102, 0.590993, 0.526597},
               {0.417724, 0.650323, 0.564535}},
              limit);
  expect_list(run.o.max, {0.9995, 1.4950, 1.4754, 0.8434, 0.7154, 1.0865}, tolerance(GetParam(), 5e-5));
}

TEST_P(Journey, SelfAttentionWithParameters) {  // G2
  const Answer run(GetParam(), {times(kWords, kWq)}, {times(kWords, kWk)}, {times(kWords, kWv)});
  const double limit = tolerance(GetParam(), 5e-7);
  expect_rows(run.o.weights, 0, kG2Weights, limit);
  expect_rows(run.o.out, 0, kG2Out, limit);
}

// G3, out × in.
const Matrix kG3q = {{0.31605905, 0.45680857, 0.51183486}, {-0.16828540, -0.33787704, -0.09177387}};
const Matrix kG3k = {{0.40580583, -0.47042054, 0.23680520}, {0.21336073, -0.26005065, -0.51054299}};
const Matrix kG3v = {{0.25256991, -0.14147827, -0.19618136}, {0.51910746, -0.08516759, -0.20432705}};

TEST_P(Journey, LinearLayersAndTheCausalMask) {  // G3
  const auto q = times(kWords, transposed(kG3q)), k = times(kWords, transposed(kG3k)),
             v = times(kWords, transposed(kG3v));
  const double limit = tolerance(GetParam(), 5e-7);
  const Answer full(GetParam(), {q}, {k}, {v});
  expect_rows(full.o.out, 0,
              {{-0.073890, 0.071290},
               {-0.074811, 0.070309},
               {-0.074856, 0.070242},
               {-0.076002, 0.068450},
               {-0.076328, 0.067943},
               {-0.075444, 0.069305}},
              limit);
  expect_rows(full.o.weights, 0,
              {{0.192126, 0.164646, 0.165161, 0.154994, 0.172115, 0.150958},
               {0.204125, 0.165883, 0.166215, 0.149578, 0.166453, 0.147746},
               {0.203562, 0.165924, 0.166249, 0.149815, 0.166417, 0.148033},
               {0.186888, 0.166688, 0.166836, 0.157104, 0.166091, 0.156392},
               {0.183045, 0.166859, 0.166957, 0.158840, 0.165825, 0.158474},
               {0.193472, 0.166333, 0.166568, 0.154186, 0.166561, 0.152880}},
              limit);
  const Answer causal(GetParam(), {q}, {k}, {v}, {.visible = Visibility::causal()});
  expect_rows(causal.o.weights, 0,
              {{1, 0, 0, 0, 0, 0},
               {0.551678, 0.448322, 0, 0, 0, 0},
               {0.379967, 0.309714, 0.310319, 0, 0, 0},
               {0.275843, 0.246028, 0.246247, 0.231882, 0, 0},
               {0.217515, 0.198281, 0.198398, 0.188753, 0.197053, 0},
               {0.193472, 0.166333, 0.166568, 0.154186, 0.166561, 0.152880}},
              limit);
}

// G4 (also head 1 of G5, and both heads of G6), out × in.
const Matrix kG4q = {{-0.23542964, 0.01912445, -0.28674594}, {0.21772665, -0.49193421, 0.42322314}};
const Matrix kG4k = {{-0.41964141, -0.45901766, -0.36482018}, {0.26147819, -0.21332639, 0.21605217}};
const Matrix kG4v = {{-0.49001414, -0.35029209, -0.21198919}, {-0.11346072, -0.44043937, 0.37804359}};
const Matrix kG5q = {{-0.13615718, 0.18532234, 0.40826952}, {0.10756379, 0.15787685, 0.55729234}};
const Matrix kG5k = {{-0.26039040, 0.18287641, -0.25687245}, {0.41260320, 0.46110451, -0.53230095}};
const Matrix kG5v = {{0.49285257, 0.27569306, 0.25159019}, {0.23768061, 0.47995079, -0.07623309}};

TEST_P(Journey, TwoHeadsSideBySide) {  // G4 and G5
  const auto project = [](const Matrix& w) { return times(kWords, transposed(w)); };
  const double limit = tolerance(GetParam(), 5e-7);
  const Answer causal(GetParam(), {project(kG4q), project(kG5q)}, {project(kG4k), project(kG5k)},
                      {project(kG4v), project(kG5v)}, {.visible = Visibility::causal()});
  expect_rows(causal.o.out, 0,
              {{-0.451920, 0.221605},
               {-0.587435, 0.005776},
               {-0.630023, -0.063183},
               {-0.567457, -0.084253},
               {-0.552562, -0.098068},
               {-0.529901, -0.108068}},
              limit);
  expect_rows(causal.o.out, 1,
              {{0.477196, 0.106348},
               {0.589073, 0.325661},
               {0.620196, 0.385963},
               {0.547769, 0.358925},
               {0.532089, 0.342797},
               {0.507653, 0.349349}},
              limit);
  const Answer full(GetParam(), {project(kG4q)}, {project(kG4k)}, {project(kG4v)});
  expect_rows(full.o.out, 0,
              {{-0.533739, -0.105092},
               {-0.532323, -0.107970},
               {-0.532322, -0.107925},
               {-0.529707, -0.107589},
               {-0.531051, -0.106597},
               {-0.529901, -0.108068}},
              limit);
}

TEST_P(Journey, HeadsOfWidthOneAndTheOutputProjection) {  // G6
  const auto column = [](const Matrix& w, std::size_t row) {
    return times(kWords, transposed(rows(w, row, row + 1)));
  };
  const Answer run(GetParam(), {column(kG4q, 0), column(kG4q, 1)}, {column(kG4k, 0), column(kG4k, 1)},
                   {column(kG4v, 0), column(kG4v, 1)}, {.visible = Visibility::causal()});
  const Matrix joined = {{-0.451920, 0.221605},  {-0.588925, 0.012245},  {-0.631329, -0.057555},
                         {-0.568469, -0.083234}, {-0.554060, -0.096409}, {-0.531105, -0.107728}};
  const Matrix expected = {{0.319018, 0.485763}, {0.294346, 0.389676}, {0.285575, 0.359278},
                           {0.269264, 0.387327}, {0.263871, 0.392796}, {0.257474, 0.402783}};
  const Matrix wo = {{-0.16675782, 0.22697258}, {0.50002593, 0.13173825}};
  const double bias[2] = {0.19335884, 0.68254095}, limit = tolerance(GetParam(), 5e-7);
  for (std::size_t i = 0; i < 6; ++i) {
    double out[2] = {bias[0], bias[1]};
    for (std::size_t h = 0; h < 2; ++h) {
      const double x = run.o.out.at(0, static_cast<Index>(h), static_cast<Index>(i), 0);
      EXPECT_NEAR(x, joined[i][h], limit) << "row " << i << ", head " << h;
      for (std::size_t d = 0; d < 2; ++d) out[d] += wo[d][h] * x;
    }
    for (std::size_t d = 0; d < 2; ++d) EXPECT_NEAR(out[d], expected[i][d], limit) << "row " << i;
  }
}

TEST_P(Journey, ScoresOfTwoHeads) {  // G7: the scores A·Aᵀ come back through bias-free weights and lse
  const Matrix one = {
      {0.2745, 0.6584, 0.2775, 0.8573}, {0.8993, 0.0390, 0.9268, 0.7388}, {0.7179, 0.7058, 0.9156, 0.4340}};
  const Matrix two = {
      {0.0772, 0.3565, 0.1479, 0.5331}, {0.4066, 0.2318, 0.4545, 0.9737}, {0.4606, 0.5159, 0.4220, 0.5786}};
  const Matrix scores[2] = {{{1.3208, 1.1631, 1.2879}, {1.1631, 2.2150, 1.8424}, {1.2879, 1.8424, 2.0402}},
                            {{0.4391, 0.7003, 0.5903}, {0.7003, 1.3737, 1.0620}, {0.5903, 1.0620, 0.9912}}};
  const Answer run(GetParam(), {one, two}, {one, two}, {one, two}, {.scale = 1.0});
  for (Index h = 0; h < 2; ++h)
    for (Index i = 0; i < 3; ++i)
      for (Index j = 0; j < 3; ++j) {
        EXPECT_NEAR(std::log(run.o.weights.at(0, h, i, j)) + run.o.lse.at(0, h, i),
                    scores[h][static_cast<std::size_t>(i)][static_cast<std::size_t>(j)],
                    tolerance(GetParam(), 2e-4));
      }
}

TEST_P(Journey, StatisticsOfEveryRow) {              // G8
  const double limit = tolerance(GetParam(), 1e-8);  // the parameters above have eight digits
  const auto q = times(kWords, kWq), k = times(kWords, kWk), v = times(kWords, kWv);
  const Answer full(GetParam(), {q}, {k}, {v});
  expect_list(full.o.lse, {2.51647110, 2.79535716, 2.78182358, 2.33135970, 2.25869865, 2.49560520}, limit);
  expect_list(full.o.max, {0.95780837, 1.30983363, 1.29287813, 0.71892462, 0.62362138, 0.93093032}, limit);
  expect_list(full.o.entropy, {1.76711734, 1.74796241, 1.74901421, 1.77761686, 1.78117050, 1.76848763},
              limit);
  expect_list(full.o.received, {0.93128476, 1.26590628, 1.23837256, 0.84361935, 0.64550404, 1.07531301},
              limit);
  const Answer causal(GetParam(), {q}, {k}, {v}, {.visible = Visibility::causal()});
  expect_list(causal.o.lse, {0.65276377, 1.81826299, 2.26289628, 1.97817437, 2.06612092, 2.49560520}, limit);
  expect_list(causal.o.max, {0.65276377, 1.30983363, 1.29287813, 0.71892462, 0.62362138, 0.93093032}, limit);
  expect_list(causal.o.entropy, {0, 0.67242369, 1.08315790, 1.37796155, 1.59691154, 1.76848763}, limit);
  expect_list(causal.o.received, {2.22857498, 1.70987485, 1.08563034, 0.53419562, 0.26230654, 0.17941768},
              limit);
  double loss[2] = {0, 0};
  for (Index i = 0; i < 6; ++i)
    for (Index d = 0; d < 2; ++d) {
      loss[0] += 0.5 * full.o.out.at(0, 0, i, d) * full.o.out.at(0, 0, i, d);
      loss[1] += 0.5 * causal.o.out.at(0, 0, i, d) * causal.o.out.at(0, 0, i, d);
    }
  EXPECT_NEAR(loss[0], 2.2168895935, 4 * limit);
  EXPECT_NEAR(loss[1], 2.5855750838, 4 * limit);
}

Matrix plus(const Matrix& a, const Matrix& b) {
  Matrix c = a;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].size(); ++j) c[i][j] += b[i][j];
  return c;
}

Matrix head_of(const Tensor& x) {
  Matrix m(static_cast<std::size_t>(x.dim(2)), std::vector<double>(static_cast<std::size_t>(x.dim(3))));
  for (std::size_t i = 0; i < m.size(); ++i)
    for (std::size_t d = 0; d < m[i].size(); ++d)
      m[i][d] = x.at(0, 0, static_cast<Index>(i), static_cast<Index>(d));
  return m;
}

void expect_matrix(const Matrix& found, const Matrix& expected, double limit) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t j = 0; j < expected[i].size(); ++j) {
      EXPECT_NEAR(found[i][j], expected[i][j], limit) << "row " << i << ", column " << j;
    }
}

TEST_P(Journey, GradientsOfTheParametersAndWords) {  // G8: the loss is half the sum of squares of the output
  const double limit = tolerance(GetParam(), 1.5e-8);  // the parameters above have eight digits
  const auto check = [&](const Visibility& visible, const Matrix& dwq, const Matrix& dwk, const Matrix& dwv,
                         const std::vector<double>& second_word) {
    const DType dtype = GetParam().dtype;
    const Tensor q = heads({times(kWords, kWq)}, dtype), k = heads({times(kWords, kWk)}, dtype),
                 v = heads({times(kWords, kWv)}, dtype);
    const AttentionOptions options{.visible = visible};
    AllOutputs o(q, k, v);
    GetParam().run(q, k, v, options, o.views());
    const Tensor dout = o.out.clone();
    AllGradients g(q, k, v);
    GetParam().backward({q, k, v, o.out, o.lse}, dout, options, g.views());
    const Matrix dq = head_of(g.dq), dk = head_of(g.dk), dv = head_of(g.dv), words = transposed(kWords);
    expect_matrix(times(words, dq), dwq, limit);
    expect_matrix(times(words, dk), dwk, limit);
    expect_matrix(times(words, dv), dwv, 4 * limit);
    const Matrix dx =
        plus(plus(times(dq, transposed(kWq)), times(dk, transposed(kWk))), times(dv, transposed(kWv)));
    expect_matrix({dx[1]}, {second_word}, 2 * limit);
  };
  check(Visibility::all(), {{0.03261275, 0.09060967}, {0.04372231, 0.12121335}, {0.03960256, 0.10977561}},
        {{0.00249470, 0.00925182}, {0.04466257, 0.15392360}, {0.04767265, 0.16391249}},
        {{0.76078985, 2.04533048}, {1.14046047, 3.06591718}, {1.01647492, 2.73263255}},
        {0.27612629, 0.69837441, 1.06124226});
  check(Visibility::causal(), {{0.01726374, 0.05243983}, {0.02318935, 0.07028266}, {0.01439041, 0.04475333}},
        {{0.00663144, 0.02290239}, {0.03578140, 0.11471865}, {0.01434100, 0.04159147}},
        {{0.82987729, 2.50732230}, {0.99538317, 2.87023191}, {1.16743435, 3.63657780}},
        {0.37097909, 0.90782582, 1.46069761});
}

TEST_P(Journey, AlignmentOfTwoQueriesToSixKeys) {
  const auto q = rows(times(kWords, kWq), 4, 6), k = times(kWords, kWk), v = times(kWords, kWv);
  const double limit = tolerance(GetParam(), 5e-7);
  const auto check = [&](const Visibility& visible, const Matrix& weights, const Matrix& out) {
    const Answer run(GetParam(), {q}, {k}, {v}, {.visible = visible});
    expect_rows(run.o.weights, 0, weights, limit);
    expect_rows(run.o.out, 0, out, limit);
  };
  check(Visibility::all(), rows(kG2Weights, 4, 6), rows(kG2Out, 4, 6));
  check(Visibility::causal(), {{0.195191, 0.236336, 0.233120, 0.181958, 0.153396, 0}, kG2Weights[5]},
        {{0.286459, 0.789677}, {0.299010, 0.804037}});
  check({.right = 0, .offset = 0}, {{1, 0, 0, 0, 0, 0}, {0.426810, 0.573190, 0, 0, 0, 0}},
        {{0.185511, 0.881197}, {0.305664, 0.951441}});
  check(Visibility::window(2), {{0, 0, 0, 0.542585, 0.457415, 0}, {0, 0, 0, 0, 0.377732, 0.622268}},
        {{0.198079, 0.451092}, {0.256805, 0.615668}});
}

TEST_P(Journey, AlignmentOfSixQueriesToTwoKeys) {
  const Answer run(GetParam(), {times(kWords, kWq)}, {rows(times(kWords, kWk), 0, 2)},
                   {rows(times(kWords, kWv), 0, 2)}, {.visible = Visibility::causal()});
  const double limit = tolerance(GetParam(), 5e-7);
  expect_rows(run.o.weights, 0, {{0, 0}, {0, 0}, {0, 0}, {0, 0}, {1, 0}, {0.426810, 0.573190}}, limit);
  expect_rows(run.o.out, 0, {{0, 0}, {0, 0}, {0, 0}, {0, 0}, {0.185511, 0.881197}, {0.305664, 0.951441}},
              limit);
  for (Index i = 0; i < 4; ++i) {
    EXPECT_EQ(run.o.lse.at(0, 0, i), -kInf);
    EXPECT_EQ(run.o.out.at(0, 0, i, 0), 0);
  }
}

TEST_P(Journey, ASinkTakesItsShare) {
  const double zero[1] = {0};
  const AttentionOptions options{.sinks = ConstTensorView(zero, {1})};
  const Answer run(GetParam(), {times(kWords, kWq)}, {times(kWords, kWk)}, {times(kWords, kWv)}, options);
  const double shares[6] = {0.925288, 0.942424, 0.941686, 0.911441, 0.905398, 0.923833};
  const double limit = tolerance(GetParam(), 5e-7);
  for (Index i = 0; i < 6; ++i) {
    const double share = shares[i];
    double total = 0;
    for (Index j = 0; j < 6; ++j) total += run.o.weights.at(0, 0, i, j);
    EXPECT_NEAR(total, share, limit);
    EXPECT_NEAR(run.o.sink_weight.at(0, 0, i), 1 - share, limit);
    for (Index d = 0; d < 2; ++d) {
      const double plain = kG2Out[static_cast<std::size_t>(i)][static_cast<std::size_t>(d)];
      EXPECT_NEAR(run.o.out.at(0, 0, i, d), share * plain, 2 * limit);
    }
  }
}

// Softmax rows of the tutorials (seed checklist 16–18 and 32): one query of 1, keys are the scores.
TEST_P(Journey, SoftmaxOfTheTutorials) {
  const auto weights = [&](const Matrix& keys, double scale) {
    const Answer run(GetParam(), {{{1}}}, {keys}, {keys}, {.scale = scale});
    std::vector<double> list;
    for (std::size_t j = 0; j < keys.size(); ++j)
      list.push_back(run.o.weights.at(0, 0, 0, static_cast<Index>(j)));
    return list;
  };
  const Matrix scores = {{25.3}, {2.1}, {-18.7}, {31.2}};
  std::vector<double> found = weights(scores, 1);
  EXPECT_NEAR(found[0], 0.00273, 5e-6);
  EXPECT_NEAR(found[1], 2.3e-13, 5e-15);
  EXPECT_NEAR(found[2], 2.1e-22, 5e-24);
  EXPECT_NEAR(found[3], 0.99727, 5e-6);
  found = weights(scores, 1 / std::sqrt(64.0));  // the tutorial prints 0.21 0.11 0.01 0.47, which is wrong
  const double scaled[4] = {0.3175, 0.0175, 0.0013, 0.6638};
  for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(found[j], scaled[j], 5.01e-5);
  found = weights({{112}, {96}}, 1.0 / 8);
  EXPECT_NEAR(found[0], 0.8808, 5e-5);
  EXPECT_NEAR(found[1], 0.1192, 5e-5);
}

INSTANTIATE_TEST_SUITE_P(Oracle, Journey, ::testing::Values(reference_implementation()), journey_name);

}  // namespace
}  // namespace headlight::testing
