#!/usr/bin/env bash
# The installed program in PREFIX: runs anywhere, calls itself headlight, and brings its manual and completion along.
#   program.sh PREFIX
set -euo pipefail
prefix=$1
export PATH="$prefix/bin:$PATH"
unset HEADLIGHT_MODELS HEADLIGHT_RUN_SCRIPT

fail() { echo "program.sh: $*" >&2; exit 1; }
# has TEXT WORDS: the text has the words.
has() { [[ $1 == *"$2"* ]] || fail "no \"$2\" in: ${1:0:2000}"; }

look=$(headlight look "The cat sat.")
has "$look" "headlight serve"
[[ $look != *"./run"* ]] || fail "hints of the installed program name ./run"
has "$(headlight info en)" "llama"
has "$(headlight completion models)" "en-fr"

page=$prefix/share/man/man1/headlight-show.1
[[ -s $page ]] || fail "no $page"
has "$(<"$page")" '\fB\-\-query\fR'
has "$(<"$prefix/share/man/man1/headlight-train.1")" $'\n''headlight train \-\-start'
commands=$(headlight help | awk '/^  [a-z]/ { print $1 }')
has "$commands" "tokenizer"
for command in $commands; do
  [[ -s $prefix/share/man/man1/headlight-$command.1 ]] || fail "no manual page of $command"
done
if command -v man >/dev/null && man --help 2>&1 | grep -q -- --warnings; then
  warnings=$(MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null || true)
  [[ -z $warnings ]] || fail "man warns: $warnings"
fi

# complete WORD...: what bash offers for the last of the words.
complete_words() {
  bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _headlight; echo "${COMPREPLY[*]}"' _ \
    "$prefix/share/bash-completion/completions/headlight" "$@"
}
has "$(complete_words headlight sho)" "show"
has "$(complete_words headlight show --par)" "--part"
has "$(complete_words headlight show --part '')" "encoder decoder cross"
has "$(complete_words headlight show --model '')" "en-fr"
has "$(complete_words headlight tokenizer encode --no)" "--no-special"
has "$(complete_words headlight help sh)" "show"
has "$(complete_words headlight lab err)" "errata"
if command -v zsh >/dev/null; then zsh -n "$prefix/share/zsh/site-functions/_headlight"; fi
if command -v fish >/dev/null; then
  # complete_fish LINE: what fish offers after it.
  complete_fish() {
    XDG_CONFIG_HOME=$PWD fish -c 'source $argv[1]; complete -C $argv[2]' \
      "$prefix/share/fish/vendor_completions.d/headlight.fish" "$1"
  }
  has "$(complete_fish "headlight sho")" "show"
  has "$(complete_fish "headlight show --par")" "--part"
  has "$(complete_fish "headlight show --part ")" "decoder"
  has "$(complete_fish "headlight show --model e")" "en-fr"
  has "$(complete_fish "headlight tokenizer encode --no")" "--no-special"
  has "$(complete_fish "headlight help sho")" "show"
  has "$(complete_fish "headlight lab err")" "errata"
fi
[[ -s $prefix/share/zsh/site-functions/_headlight && -s $prefix/share/fish/vendor_completions.d/headlight.fish ]] ||
  fail "no completion of zsh or fish"
echo "the installed program is complete"
