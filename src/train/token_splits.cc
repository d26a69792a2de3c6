#include "train/token_splits.h"

#include "headlight/error.h"
#include "text/parts.h"

namespace headlight::train {

TokenSplits::TokenSplits(const Tokenizer& tokenizer, double share) : share_(share) {
  const auto* bpe = std::get_if<text::BpeParts>(&text::parts_of(tokenizer).model);
  if (bpe == nullptr || bpe->merges.empty()) {
    throw Error(ErrorKind::input, "data.split",
                "data.split_share needs a tokenizer with merges: tokenizer.kind \"bpe\"");
  }
  halves_.resize(static_cast<std::size_t>(tokenizer.size()));
  for (const text::BpeParts::Merge& merge : bpe->merges) {
    Halves& halves = halves_[static_cast<std::size_t>(merge.result)];
    if (halves.left < 0) halves = {merge.left, merge.right};  // of several splits, the one learned first
  }
}

void TokenSplits::split(std::span<const TokenId> ids, headlight::Dice& dice,
                        std::vector<TokenId>& out) const {
  out.clear();
  std::vector<TokenId> waiting;  // the next one last
  for (const TokenId id : ids) {
    waiting.assign(1, id);
    while (!waiting.empty()) {
      const TokenId next = waiting.back();
      waiting.pop_back();
      const Halves halves = halves_[static_cast<std::size_t>(next)];
      if (halves.left < 0 || dice.uniform() >= share_) {
        out.push_back(next);
        continue;
      }
      waiting.push_back(halves.right);
      waiting.push_back(halves.left);
    }
  }
}

}  // namespace headlight::train
