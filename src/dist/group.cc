#include "dist/group.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>

#include "core/concat.h"

namespace headlight::dist {

RankError::RankError(ErrorKind kind, std::string_view code, const std::string& message, int rank,
                     bool everywhere)
    : Error(kind, code, message), rank_(rank), everywhere_(everywhere) {}

std::string rank_prefix(int rank, int size) { return concat("rank ", rank, " of ", size, ": "); }

void check_mpi(const Group::State& state, int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw RankError(
      ErrorKind::peer, "dist.mpi",
      concat(
          rank_prefix(state.rank, state.size), what, " failed: ", text,
          "; a process or its network was lost: see what the other ranks printed, and start the job again"),
      state.rank, false);
}

namespace {

void check_timeout(double seconds) {
  if (seconds > 0 && std::isfinite(seconds)) return;
  throw Error(ErrorKind::usage, "dist.timeout",
              concat("dist::Group: timeout is ", seconds, "; need seconds above 0"));
}

// A separate communicator: messages of the program cannot be mistaken for ours, and errors are returned as codes.
std::unique_ptr<Group::State> adopt(MPI_Comm comm, const GroupOptions& options) {
  auto state = std::make_unique<Group::State>();
  state->comm = comm;
  state->timeout = options.timeout;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &state->rank);
  MPI_Comm_size(comm, &state->size);
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  state->background = level >= MPI_THREAD_SERIALIZED;
  return state;
}

std::unique_ptr<Group::State> duplicate(MPI_Comm comm, const GroupOptions& options) {
  MPI_Comm own = MPI_COMM_NULL;
  if (MPI_Comm_dup(comm, &own) != MPI_SUCCESS) {
    throw Error(ErrorKind::peer, "dist.mpi", "dist::Group: MPI_Comm_dup failed; is the communicator valid?");
  }
  return adopt(own, options);
}

void require_running() {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended == 0) return;
  throw Error(ErrorKind::usage, "dist.finalized",
              "dist::Group: MPI has ended in this process and cannot start again; keep one Group until the "
              "end of main()");
}

}  // namespace

Group Group::world(const GroupOptions& options) {
  check_timeout(options.timeout);
  require_running();
  int running = 0;
  MPI_Initialized(&running);
  if (running == 0) {
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) {
      throw Error(ErrorKind::peer, "dist.mpi",
                  "dist::Group: MPI_Init_thread failed; start the program with mpirun");
    }
  }
  auto state = duplicate(MPI_COMM_WORLD, options);
  state->owns_mpi = running == 0;
  return Group(std::move(state));
}

Group Group::of_communicator(int fortran_handle, const GroupOptions& options) {
  check_timeout(options.timeout);
  require_running();
  int running = 0;
  MPI_Initialized(&running);
  if (running == 0) {
    throw Error(
        ErrorKind::usage, "dist.not_started",
        "dist::Group::of_communicator: MPI has not been started; call MPI_Init_thread or Group::world first");
  }
  return Group(duplicate(MPI_Comm_f2c(fortran_handle), options));
}

Group Group::split(int colour) {
  if (colour < 0) {
    throw Error(ErrorKind::usage, "dist.colour",
                concat("dist::Group::split: colour is ", colour, "; need 0 or more"));
  }
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(*state_, MPI_Comm_split(state_->comm, colour, state_->rank, &part), "MPI_Comm_split");
  auto state = adopt(part, {.timeout = state_->timeout});
  state->latency = state_->latency;
  state->bandwidth = state_->bandwidth;
  return Group(std::move(state));
}

Grid& grid_of(Group& group, int columns) {
  std::unique_ptr<Grid>& grid = group.state().grid;
  if (grid == nullptr || grid->columns != columns) {
    Group row = group.split(group.rank() / columns);
    grid = std::make_unique<Grid>(Grid{columns, std::move(row), group.split(group.rank() % columns)});
  }
  return *grid;
}

Group::Group(std::unique_ptr<State> state) : state_(std::move(state)) {}
Group::Group(Group&&) noexcept = default;
Group& Group::operator=(Group&&) noexcept = default;

namespace {

// Open MPI's launcher can hang or crash when a job fails while one of its ranks is in MPI_Finalize. A rank that is done
// therefore waits outside of it, without using its core, until all are done.
void wait_for_all(MPI_Comm comm) {
  MPI_Request all = MPI_REQUEST_NULL;
  int done = 0;
  if (MPI_Ibarrier(comm, &all) != MPI_SUCCESS) return;
  for (int idle = 0; MPI_Test(&all, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0; ++idle) {
    if (idle < 100) std::this_thread::yield();
    else std::this_thread::sleep_for(std::chrono::microseconds(idle < 10'000 ? 50 : 1000));
  }
}

}  // namespace

// While an exception passes through, the other ranks may be waiting for this one: MPI is left open, so that mpirun sees a
// process that ended without finishing and ends the job.
Group::~Group() {
  if (state_ == nullptr || std::uncaught_exceptions() > 0) return;
  state_->grid.reset();
  if (state_->owns_mpi) wait_for_all(state_->comm);
  MPI_Comm_free(&state_->comm);
  if (state_->owns_mpi) MPI_Finalize();
}

int Group::rank() const noexcept { return state_->rank; }
int Group::size() const noexcept { return state_->size; }
bool Group::overlaps() const noexcept { return state_->background; }

void Group::emulate_link(double latency, double bandwidth) {
  if (!(latency >= 0) || !(bandwidth > 0) || !std::isfinite(latency))
    throw Error(ErrorKind::usage, "dist.link",
                concat("dist::Group::emulate_link: latency ", latency, " s and ", bandwidth,
                       " bytes/s; need 0 or more, and more than 0"));
  state_->latency = latency;
  state_->bandwidth = bandwidth;
}

void Group::barrier() { (void)all_gather({}); }

void Group::all_to_all(std::span<const std::span<const std::byte>> parts,
                       std::span<const std::span<std::byte>> from) {
  const auto ranks = static_cast<std::size_t>(size()), mine = static_cast<std::size_t>(rank());
  if (parts.size() != ranks || from.size() != ranks || parts[mine].size() != from[mine].size()) {
    throw Error(
        ErrorKind::usage, "dist.all_to_all",
        concat("dist::Group::all_to_all: ", parts.size(), " parts to send and ", from.size(),
               " to receive; need one per rank (", ranks, "), and the same size for this rank's own"));
  }
  const int tag = state_->next_tag();
  Transfers transfers(*this);
  // From the neighbour outwards, so that ranks do not all send to rank 0 first.
  for (std::size_t step = 1; step < ranks; ++step) {
    const std::size_t source = (mine + ranks - step) % ranks, target = (mine + step) % ranks;
    transfers.receive(static_cast<int>(source), from[source], tag);
    transfers.send(static_cast<int>(target), parts[target], tag);
  }
  if (!parts[mine].empty()) std::memcpy(from[mine].data(), parts[mine].data(), parts[mine].size());
  transfers.wait();
}

std::vector<std::vector<std::byte>> Group::all_gather(std::span<const std::byte> mine) {
  const auto ranks = static_cast<std::size_t>(size());
  const Index size = static_cast<Index>(mine.size());
  std::vector<Index> sizes(ranks);
  const auto gather = [&](std::span<const std::byte> part, const auto& to) {
    const std::vector<std::span<const std::byte>> parts(ranks, part);
    std::vector<std::span<std::byte>> from;
    for (std::size_t r = 0; r < ranks; ++r) from.push_back(to(r));
    all_to_all(parts, from);
  };
  gather(std::as_bytes(std::span(&size, 1)),
         [&](std::size_t r) { return std::as_writable_bytes(std::span(&sizes[r], 1)); });
  std::vector<std::vector<std::byte>> result(ranks);
  for (std::size_t r = 0; r < ranks; ++r) result[r].resize(static_cast<std::size_t>(sizes[r]));
  gather(mine, [&](std::size_t r) { return std::span<std::byte>(result[r]); });
  return result;
}

namespace {

// Each rank sums one slice of all ranks' numbers and sends the sum to all: a number crosses the network twice, whatever the
// number of ranks, and every rank ends with the same bits.
template <class T>
void sum_in_rank_order(Group& group, std::span<T> values) {
  const auto ranks = static_cast<std::size_t>(group.size()), mine = static_cast<std::size_t>(group.rank());
  const auto slice = [&](std::size_t r) {
    const std::size_t begin = values.size() * r / ranks, end = values.size() * (r + 1) / ranks;
    return values.subspan(begin, end - begin);
  };
  const std::size_t own = slice(mine).size();
  std::vector<T> others(own * ranks);
  std::vector<std::span<const std::byte>> parts;
  std::vector<std::span<std::byte>> from;
  for (std::size_t r = 0; r < ranks; ++r) {
    parts.push_back(std::as_bytes(slice(r)));
    from.push_back(std::as_writable_bytes(std::span(others).subspan(r * own, own)));
  }
  group.all_to_all(parts, from);
  std::vector<T> total(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(own));
  for (std::size_t r = 1; r < ranks; ++r)
    for (std::size_t n = 0; n < own; ++n) total[n] += others[r * own + n];
  for (std::size_t r = 0; r < ranks; ++r) {
    parts[r] = std::as_bytes(std::span<const T>(total));
    from[r] = std::as_writable_bytes(slice(r));
  }
  group.all_to_all(parts, from);
}

bool is_contiguous(const ConstTensorView& view) {
  Index step = 1;
  for (int axis = view.rank() - 1; axis >= 0; --axis) {
    if (view.dim(axis) > 1 && view.stride(axis) != step) return false;
    step *= view.dim(axis);
  }
  return true;
}

}  // namespace

void Group::sum(TensorView values) {
  const bool f64 = values.dtype() == DType::f64;
  if (values.empty() || (!f64 && values.dtype() != DType::f32) || !is_contiguous(values)) {
    throw Error(ErrorKind::input, "dist.sum",
                concat("dist::Group::sum: got ", values.empty() ? "nothing" : name_of(values.dtype()), " ",
                       values.shape().text(), "; need a contiguous f32 or f64 tensor"));
  }
  const auto n = static_cast<std::size_t>(values.shape().elements());
  if (f64) sum_in_rank_order(*this, std::span(values.as<double>(), n));
  else sum_in_rank_order(*this, std::span(values.as<float>(), n));
}

void Group::abort(const std::string& text, int code) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::fflush(stderr);
  // Open MPI's launcher may hang in MPI_Abort while another rank is in MPI_Finalize. A process that leaves with a code and
  // without MPI_Finalize makes it end the others as well.
  std::_Exit(code);
}

namespace {

// The exit codes of the headlight program.
int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return 2;
    case ErrorKind::input: return 3;
    case ErrorKind::file: return 4;
    case ErrorKind::resource: return 5;
    case ErrorKind::numeric: return 6;
    case ErrorKind::peer: return 7;
  }
  return 1;
}

}  // namespace

int run(Group& group, const std::function<void(Group&)>& body) {
  const std::string prefix = rank_prefix(group.rank(), group.size());
  try {
    body(group);
    return 0;
  } catch (const RankError& error) {
    if (!error.everywhere()) {
      // All ranks notice a lost peer at the same moment. The lowest of them prints the error, and ends the others before they do.
      if (error.kind() == ErrorKind::peer)
        std::this_thread::sleep_for(std::chrono::seconds(3 * std::min(group.rank(), 2)));
      group.abort(concat("error: ", error.what()), exit_code(error.kind()));
    }
    if (group.rank() == 0) std::fprintf(stderr, "error: %s\n", error.what());
    return exit_code(error.kind());
  } catch (const Error& error) {
    group.abort(concat("error: ", prefix, error.what()), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    group.abort(concat("error: ", prefix, "out of memory; use more ranks, or shorter sequences"), 5);
  } catch (const std::exception& error) { group.abort(concat("error: ", prefix, error.what()), 1); }
}

}  // namespace headlight::dist
