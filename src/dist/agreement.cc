#include "dist/agreement.h"

#include "dist/group.h"

namespace headlight::dist {
namespace {

// Ranks compare this 64-bit hash of the text; a collision between two texts of users is unlikely enough to ignore.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash ^ (hash >> 32);
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> gather_texts(Group& group, const std::string& mine) {
  std::vector<std::string> texts;
  for (const auto& bytes : group.all_gather(std::as_bytes(std::span(mine)))) texts.push_back(text_of(bytes));
  return texts;
}

}  // namespace

std::vector<std::vector<Index>> Agreement::share(std::span<const Index> mine) {
  const auto ranks = static_cast<std::size_t>(group_.size());
  std::vector<std::vector<Index>> all(ranks, std::vector<Index>(mine.size()));
  const std::vector<std::span<const std::byte>> parts(ranks, std::as_bytes(mine));
  std::vector<std::span<std::byte>> from;
  for (std::vector<Index>& other : all) from.push_back(std::as_writable_bytes(std::span(other)));
  group_.all_to_all(parts, from);
  return all;
}

void Agreement::settle() {
  std::string text;
  for (const Line& line : lines_) text += line.name + '=' + line.value + '\n';
  const Index mine[] = {refusal_ ? 1 : 0, static_cast<Index>(hash_of(text))};
  const std::vector<std::vector<Index>> all = share(mine);
  bool same = true;
  for (const std::vector<Index>& other : all) {
    if (other[0] != 0) throw_refusal();
    same = same && other[1] == mine[1];
  }
  if (!same) throw_difference();
}

// All ranks throw the error of the lowest rank that refused.
void Agreement::throw_refusal() {
  std::string mine;
  if (refusal_)
    mine = concat(static_cast<int>(refusal_->kind()), '\n', refusal_->code(), '\n', refusal_->what());
  const std::vector<std::string> texts = gather_texts(group_, mine);
  int rank = 0;
  while (texts[static_cast<std::size_t>(rank)].empty()) ++rank;
  const std::string& text = texts[static_cast<std::size_t>(rank)];
  const std::size_t code = text.find('\n') + 1, message = text.find('\n', code) + 1;
  throw RankError(static_cast<ErrorKind>(std::stoi(text)), text.substr(code, message - code - 1),
                  rank_prefix(rank, group_.size()) + text.substr(message), rank, true);
}

// The first line in which some rank differs from rank 0.
void Agreement::throw_difference() {
  std::string mine;
  for (const Line& line : lines_) mine += line.name + '\0' + line.value + '\0';
  const std::vector<std::string> texts = gather_texts(group_, mine);
  const auto field = [](const std::string& text, std::size_t& at) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    std::string found = text.substr(at, end - at);
    at = std::min(end + 1, text.size());
    return found;
  };
  std::vector<std::size_t> at(texts.size(), 0);
  while (at[0] < texts[0].size()) {
    const std::string name = field(texts[0], at[0]), value = field(texts[0], at[0]);
    for (std::size_t r = 1; r < texts.size(); ++r) {
      const std::string other_name = field(texts[r], at[r]), other = field(texts[r], at[r]);
      if (other_name == name && other == value) continue;
      throw RankError(ErrorKind::input, "dist.disagree",
                      concat(rank_prefix(static_cast<int>(r), group_.size()), who_, ": ", other_name, " is ",
                             other, " but rank 0 has ", name, " ", value, "; need the same on all ranks"),
                      static_cast<int>(r), true);
    }
  }
  throw RankError(ErrorKind::input, "dist.disagree",
                  concat(rank_prefix(0, group_.size()), who_, ": ranks gave different arguments"), 0, true);
}

void agree(Group& group, const std::string& who, std::span<const Fact> facts) {
  Agreement agreement(group, who);
  for (const Fact& fact : facts) agreement.add(fact.name.c_str(), fact.value);
  agreement.settle();
}

}  // namespace headlight::dist
