#include "nn/lead.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/call_scope.h"
#include "core/cpu.h"
#include "core/team.h"
#include "headlight/error.h"
#include "nn/drive.h"
#include "nn/stored_product.h"

namespace headlight::nn {
namespace {

enum class Ask : std::uint64_t { finish, open, multiply, wait };

constexpr std::chrono::seconds kLongestSilence{60};  // far below the timeout of a group

// A request: Ask, then the name of a model; or Call, its Columns, their biases and x.
struct Call {
  Ask ask = Ask::multiply;
  Index rows = 0, depth = 0, factors = 0;
  Activations activations = Activations::exact;
};
struct Columns {
  std::uint64_t matrix = 0;
  Index columns = 0;
  WeightLayout layout = WeightLayout::out_in;
  bool biased = false;
};

template <class T>
void append(Bytes& to, const T* from, Index count) {
  const auto* first = reinterpret_cast<const std::byte*>(from);
  to.insert(to.end(), first, first + static_cast<std::size_t>(count) * sizeof(T));
}

// Reads values from the front of a request.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  [[nodiscard]] T take() {
    T value;
    take_some(&value, 1);
    return value;
  }
  template <class T>
  void take_some(T* to, Index count) {
    const std::size_t size = static_cast<std::size_t>(count) * sizeof(T);
    std::memcpy(static_cast<void*>(to), bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }
  [[nodiscard]] std::string rest() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  std::span<const std::byte> bytes_;
};

// Sends the result of a helper to process 0 only. Helpers pass their own and no `answers`.
void give_answers(Team& team, std::span<const std::byte> mine, std::vector<std::vector<float>>* answers) {
  const auto ranks = static_cast<std::size_t>(team.size());
  std::vector<std::span<const std::byte>> parts(ranks);
  std::vector<std::span<std::byte>> from(ranks);
  if (answers == nullptr) parts[0] = mine;
  for (std::size_t r = 1; answers != nullptr && r < ranks; ++r)
    from[r] = std::as_writable_bytes(std::span((*answers)[r]));
  team.all_to_all(parts, from);
}

// Multiplies this helper's columns of one request.
void help_once(Context& ctx, Team& team, Reader& request, const Call& call, const Matrices& matrices) {
  const CallScope scope(ctx);
  struct Part {
    Columns of;
    Range columns;
    std::vector<float> bias;
    Tensor y;
  };
  std::vector<Part> parts(static_cast<std::size_t>(call.factors));
  for (Part& part : parts) part.of = request.take<Columns>();
  for (Part& part : parts) {
    if (!part.of.biased) continue;
    part.bias.resize(static_cast<std::size_t>(part.of.columns));
    request.take_some(part.bias.data(), part.of.columns);
  }
  Tensor x = Tensor::uninitialized({call.rows, call.depth}, DType::f32);
  request.take_some(x.as<float>(), call.rows * call.depth);
  std::vector<Factor> factors;
  for (Part& part : parts) {
    part.columns = share_of(part.of.columns, team.rank(), team.size());
    part.y = Tensor::uninitialized({call.rows, part.columns.size()}, DType::f32);
    const Index columns = part.of.columns;
    const Factor whole{rows_of(*matrices[part.of.matrix]), part.of.layout, part.y,
                       part.bias.empty() ? ConstTensorView()
                                         : ConstTensorView(part.bias.data(), DType::f32, {columns}, {1})};
    Factor factor = part_of(whole, part.columns);
    factor.y = part.y;
    factors.push_back(factor);
  }
  multiply_factors(ctx, x, factors);
  Bytes answer;
  for (const Part& part : parts) append(answer, part.y.as<float>(), part.y.shape().elements());
  give_answers(team, answer, nullptr);
}

}  // namespace

LeadExecutor::LeadExecutor(Team& team, int threads)
    : team_(team), pool_(ThreadPool::make(threads == 0 ? usable_cores() : threads)) {
  if (team_.overlaps()) awake_ = std::thread([this] { keep_awake(); });
}

LeadExecutor::~LeadExecutor() {
  {
    const std::lock_guard guard(mutex_);
    done_ = true;
  }
  finished_.notify_all();
  if (awake_.joinable()) awake_.join();
}

// A request for hours of work is refused: the others take a long silence for a lost process.
void LeadExecutor::keep_awake() {
  std::unique_lock guard(mutex_);
  try {
    while (!finished_.wait_for(guard, kLongestSilence, [&] { return done_; }))
      (void)team_.all_gather(bytes_of(Ask::wait));
  } catch (const Error&) {  // reported by the next product
  }
}

void LeadExecutor::open(const std::string& name, const Matrices& matrices) {
  const std::lock_guard guard(mutex_);
  for (const StoredMatrix* matrix : matrices) places_[matrix->data()] = matrices_++;
  Bytes request = bytes_of(Ask::open);
  append(request, name.data(), static_cast<Index>(name.size()));
  (void)team_.all_gather(request);
}

void LeadExecutor::finish() {
  {
    const std::lock_guard guard(mutex_);
    done_ = true;
    (void)team_.all_gather(bytes_of(Ask::finish));
  }
  finished_.notify_all();
}

void LeadExecutor::multiply(const ConstTensorView& x, std::span<const Factor> factors,
                            Activations activations, const MultiplyHere& multiply) {
  const Index rows = x.dim(0), depth = x.dim(1);
  std::unique_lock guard(mutex_);
  std::vector<Factor> here, shared;
  std::vector<Columns> columns;
  for (const Factor& f : factors) {
    const auto known = places_.find(f.w.data);
    if (known == places_.end() || !is_shared(team_, f, depth)) {
      here.push_back(f);
      continue;
    }
    shared.push_back(f);
    here.push_back(part_of(f, share_of(f.columns(), 0, team_.size())));
    columns.push_back({known->second, f.columns(), f.layout, !f.bias.empty()});
  }
  if (shared.empty()) {
    guard.unlock();
    return multiply(here);
  }
  Bytes request = bytes_of(Call{Ask::multiply, rows, depth, static_cast<Index>(columns.size()), activations});
  append(request, columns.data(), static_cast<Index>(columns.size()));
  for (const Factor& f : shared)
    for (Index c = 0; !f.bias.empty() && c < f.columns(); ++c)
      append(request, f.bias.as<float>() + c * f.bias.stride(0), 1);
  for (Index r = 0; r < rows; ++r) append(request, x.as<float>() + r * x.stride(0), depth);
  (void)team_.all_gather(request);
  multiply(here);
  std::vector<std::vector<float>> answers(static_cast<std::size_t>(team_.size()));
  const auto width = [&](const Factor& f, int rank) {
    return share_of(f.columns(), rank, team_.size()).size();
  };
  for (int rank = 1; rank < team_.size(); ++rank)
    for (const Factor& f : shared)
      answers[static_cast<std::size_t>(rank)].resize(answers[static_cast<std::size_t>(rank)].size() +
                                                     static_cast<std::size_t>(rows * width(f, rank)));
  give_answers(team_, {}, &answers);
  for (int rank = 1; rank < team_.size(); ++rank) {
    const float* at = answers[static_cast<std::size_t>(rank)].data();
    for (const Factor& f : shared) {
      const Range run = share_of(f.columns(), rank, team_.size());
      for (Index r = 0; r < rows; ++r, at += run.size())
        std::copy_n(at, run.size(), f.y.as<float>() + r * f.y.stride(0) + run.begin);
    }
  }
}

void help_leader(Team& team, int threads, const std::function<Matrices(const std::string& name)>& open) {
  Context exact({.threads = threads}), rounded({.threads = threads, .activations = Activations::rounded});
  Matrices matrices;
  while (true) {
    const std::vector<Bytes> all = team.all_gather({});
    const auto ask = value_of<Ask>(std::span(all[0]).first(sizeof(Ask)));
    if (ask == Ask::finish) return;
    if (ask == Ask::wait) continue;
    Reader request(all[0]);
    if (ask == Ask::open) {
      (void)request.take<Ask>();
      for (const StoredMatrix* matrix : open(request.rest())) matrices.push_back(matrix);
      continue;
    }
    const auto call = request.take<Call>();
    help_once(call.activations == Activations::rounded ? rounded : exact, team, request, call, matrices);
  }
}

}  // namespace headlight::nn
