#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <queue>

#include "text/byte_characters.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

// Up to this many symbols, scanning all pairs again after each merge is faster than a queue.
constexpr std::size_t kFew = 40;

std::uint64_t key_of(TokenId left, TokenId right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}
std::size_t scatter(std::uint64_t key) noexcept {
  key *= 0x9E3779B97F4A7C15U;
  return static_cast<std::size_t>(key ^ (key >> 29));
}

constexpr std::string_view kMetaspace = "\u2581";

// True if no merge creates a token with ▁ after another character: merges then never cross
// the start of a ▁ that follows something else.
bool cuts_at_metaspace(const BpeParts& parts) {
  if (parts.ignore_merges || !parts.prefix.empty() || !parts.suffix.empty() || !parts.vocab.find(kMetaspace))
    return false;
  return std::none_of(parts.merges.begin(), parts.merges.end(), [&](const BpeParts::Merge& merge) {
    const std::string_view token = parts.vocab.token(merge.result);
    for (std::size_t at = token.find(kMetaspace); at != std::string_view::npos;
         at = token.find(kMetaspace, at + kMetaspace.size()))
      if (at > 0 && !token.substr(0, at).ends_with(kMetaspace)) return true;
    return false;
  });
}

// Numbers, smallest first. Pairs often arrive in ascending order (long runs of one letter), so those are kept
// in two sorted lists, and only the rest in a heap.
class RisingQueue {
 public:
  explicit RisingQueue(std::vector<std::uint64_t> first) : first_(std::move(first)) {
    std::sort(first_.begin(), first_.end());
  }

  void push(std::uint64_t value) {
    if (run_at_ == run_.size()) {
      run_.clear();
      run_at_ = 0;
    }
    if (run_.empty() || value >= run_.back()) run_.push_back(value);
    else heap_.push(value);
  }
  // Removes and returns the smallest; kNothing if there is none.
  std::uint64_t pop() {
    const std::uint64_t a = first_at_ < first_.size() ? first_[first_at_] : kNothing;
    const std::uint64_t b = run_at_ < run_.size() ? run_[run_at_] : kNothing;
    const std::uint64_t c = heap_.empty() ? kNothing : heap_.top();
    if (a <= b && a <= c) first_at_ += a == kNothing ? 0 : 1;
    else if (b <= c) ++run_at_;
    else heap_.pop();
    return std::min({a, b, c});
  }
  static constexpr std::uint64_t kNothing = ~std::uint64_t{0};

 private:
  std::vector<std::uint64_t> first_, run_;
  std::size_t first_at_ = 0, run_at_ = 0;
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> heap_;
};

}  // namespace

MergeTable::MergeTable(const std::vector<BpeParts::Merge>& merges)
    : slots_(std::bit_ceil(2 * merges.size() + 2)), mask_(slots_.size() - 1) {
  for (std::uint32_t rank = 0; rank < merges.size(); ++rank) {
    const std::uint64_t key = key_of(merges[rank].left, merges[rank].right);
    std::size_t slot = scatter(key) & mask_;
    while (slots_[slot].merge.rank != kNone && slots_[slot].key != key) slot = (slot + 1) & mask_;
    slots_[slot] = {key, {rank, merges[rank].result}};  // if a pair is listed twice, the later line counts
  }
}

MergeTable::Merge MergeTable::find(TokenId left, TokenId right) const noexcept {
  const std::uint64_t key = key_of(left, right);
  for (std::size_t slot = scatter(key) & mask_; slots_[slot].merge.rank != kNone; slot = (slot + 1) & mask_)
    if (slots_[slot].key == key) return slots_[slot].merge;
  return {};
}

Bpe::Bpe(const BpeParts& parts, Symbols symbols) : parts_(parts), symbols_(symbols), merges_(parts.merges) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<unsigned char>(byte);
    const std::string name =
        symbols == Symbols::bytes ? to_utf8(character_of(value)) : std::string(1, static_cast<char>(byte));
    bytes_[byte] = parts.vocab.find(name).value_or(-1);
    fallback_[byte] = parts.byte_fallback ? parts.vocab.find(name_of_byte(value)).value_or(-1) : -1;
  }
  if (parts.unknown) unknown_ = parts.vocab.find(*parts.unknown);
  if (symbols == Symbols::bytes && parts.ignore_merges) {
    raw_.reserve(parts.vocab.count());
    for (TokenId id = 0; id < parts.vocab.size(); ++id)
      if (const auto bytes = characters_to_bytes(parts.vocab.token(id)); bytes && !bytes->empty())
        raw_.add(*bytes, id);
  }
  if (symbols == Symbols::characters && cuts_at_metaspace(parts)) safe_cut_ = kMetaspace;
}

std::optional<TokenId> Bpe::symbol(std::string_view text, bool first, bool last) const {
  const bool plain = (first || parts_.prefix.empty()) && (!last || parts_.suffix.empty());
  if (plain && text.size() == 1) {
    const TokenId id = bytes_[static_cast<unsigned char>(text[0])];
    return id < 0 ? std::nullopt : std::optional(id);
  }
  if (plain) return parts_.vocab.find(text);
  std::string name = first ? std::string() : parts_.prefix;
  if (symbols_ == Symbols::bytes) append(name, character_of(static_cast<unsigned char>(text[0])));
  else name += text;
  if (last) name += parts_.suffix;
  return parts_.vocab.find(name);
}

// The characters of the word as symbols. Characters outside the vocabulary become bytes, the unknown token, or nothing.
void Bpe::add_symbols(std::string_view word, std::vector<Piece>& out) const {
  std::optional<Piece> unknown;
  const auto add_unknown = [&] {
    if (unknown) out.push_back(*unknown);
    unknown.reset();
  };
  const auto size = static_cast<std::uint32_t>(word.size());
  for (std::uint32_t at = 0, next = 0; at < size; at = next) {
    next = at + (symbols_ == Symbols::bytes ? 1 : static_cast<std::uint32_t>(length_from(word[at])));
    const std::string_view text = word.substr(at, next - at);
    if (const auto id = symbol(text, at == 0, next == size)) {
      add_unknown();
      out.push_back({*id, at, next});
      continue;
    }
    const auto missing = [&](char byte) { return fallback_[static_cast<unsigned char>(byte)] < 0; };
    if (parts_.byte_fallback && std::none_of(text.begin(), text.end(), missing)) {
      add_unknown();
      for (std::uint32_t i = at; i < next; ++i)
        out.push_back({fallback_[static_cast<unsigned char>(word[i])], i, i + 1});
      continue;
    }
    if (!unknown_) continue;
    if (unknown && parts_.fuse_unknown) {
      unknown->end = next;
    } else {
      add_unknown();
      unknown = Piece{*unknown_, at, next};
    }
  }
  add_unknown();
}

void Bpe::encode(std::string_view word, std::vector<Piece>& out) const {
  if (parts_.ignore_merges) {
    const auto whole = symbols_ == Symbols::bytes ? raw_.find(word) : parts_.vocab.find(word);
    if (whole) {
      out.push_back({*whole, 0, static_cast<std::uint32_t>(word.size())});
      return;
    }
  }
  const std::size_t first = out.size();
  add_symbols(word, out);
  if (out.size() - first <= kFew) merge_few(out, first);
  else merge_many(out, first);
}

void Bpe::merge_few(std::vector<Piece>& pieces, std::size_t first) const {
  std::array<MergeTable::Merge, kFew> pairs;
  std::size_t count = pieces.size() - first;
  Piece* const p = pieces.data() + first;
  for (std::size_t i = 0; i + 1 < count; ++i) pairs[i] = merges_.find(p[i].id, p[i + 1].id);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i)
      if (pairs[i].rank < pairs[best].rank) best = i;
    if (pairs[best].rank == MergeTable::kNone) break;
    p[best] = {pairs[best].result, p[best].begin, p[best + 1].end};
    for (std::size_t i = best + 1; i + 1 < count; ++i) {
      p[i] = p[i + 1];
      pairs[i] = pairs[i + 1];
    }
    --count;
    if (best > 0) pairs[best - 1] = merges_.find(p[best - 1].id, p[best].id);
    if (best + 1 < count) pairs[best] = merges_.find(p[best].id, p[best + 1].id);
  }
  pieces.resize(first + count);
}

// A queue of pairs by rank, then place, over a chain of pieces: time n·log n for any word.
void Bpe::merge_many(std::vector<Piece>& pieces, std::size_t first) const {
  constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();
  Piece* const p = pieces.data() + first;
  const auto count = static_cast<std::uint32_t>(pieces.size() - first);
  std::vector<std::uint32_t> before(count), after(count);
  std::vector<std::uint64_t> waiting;
  const auto wait = [&](std::uint32_t i, auto&& push) {
    const MergeTable::Merge merge = merges_.find(p[i].id, p[after[i]].id);
    if (merge.rank != MergeTable::kNone) push(std::uint64_t{merge.rank} << 32 | i);
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    before[i] = i == 0 ? kEnd : i - 1;
    after[i] = i + 1 == count ? kEnd : i + 1;
    if (i + 1 < count) wait(i, [&](std::uint64_t entry) { waiting.push_back(entry); });
  }
  RisingQueue queue(std::move(waiting));
  for (std::uint64_t entry = queue.pop(); entry != RisingQueue::kNothing; entry = queue.pop()) {
    const auto i = static_cast<std::uint32_t>(entry);
    // The pair may have changed or disappeared since it was queued.
    if (p[i].id < 0 || after[i] == kEnd) continue;
    const std::uint32_t j = after[i];
    const MergeTable::Merge merge = merges_.find(p[i].id, p[j].id);
    if (merge.rank != entry >> 32) continue;
    p[i] = {merge.result, p[i].begin, p[j].end};
    p[j].id = -1;
    after[i] = after[j];
    if (after[i] != kEnd) before[after[i]] = i;
    const auto push = [&](std::uint64_t next) { queue.push(next); };
    if (before[i] != kEnd) wait(before[i], push);
    if (after[i] != kEnd) wait(i, push);
  }
  const auto gone = [](const Piece& piece) { return piece.id < 0; };
  pieces.erase(std::remove_if(pieces.begin() + static_cast<std::ptrdiff_t>(first), pieces.end(), gone),
               pieces.end());
}

}  // namespace headlight::text
