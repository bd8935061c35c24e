#!/bin/sh
# @TITLE@
#
# Usage: sh @FILE@ [http://host:port]@USAGE@
# Exits 1 where the defect shows, 0 where it does not, 2 where the story could not be told.

base=${1:-@BASE@}
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT

# A name stands as @name@ in what is sent and expected: new texts, accounts, ids that the server gave.
name() { names="${names}s|@$1@|$(printf '%s' "$2" | sed 's/[|&\]/\\&/g')|g
"; }
fill() { sed "$names"; }

# say N KEY METHOD PATH [TYPE]: make call N, its body on standard input if a TYPE is given.
say() {
  key=$(printf '%s' "$2" | fill); path=$(printf '%s' "$4" | fill)
  set -- "$1" "$3" "$path" "$5" "$key"
  if [ -n "$4" ]; then fill; fi >"$dir/$1.sent"
  curl -sS -g --path-as-is -m @PATIENCE@ -X "$2" -H 'Expect:' -H '@AGENT_HEADER@: @AGENT@' ${from:+--interface "$from"} ${5:+-H "@KEY_HEADER@: $5"} \
    ${4:+-H "Content-Type: $4" --data-binary "@$dir/$1.sent"} -o "$dir/$1.raw" -w '%{http_code}' "$base$3" >"$dir/$1.status" 2>"$dir/error"
  [ -f "$dir/$1.raw" ] || : >"$dir/$1.raw"
  one_line "$dir/$1.raw" >"$dir/$1"
}
one_line() { sed -e ':a' -e '$!{N;ba' -e '}' -e 's/\n//g' "$1"; }
# field N MEMBER [WHICH]: a text or number that stands in answer N.
field() {
  grep -oE "\"$2\": *(\[[^]]*\]|\"([^\"\\\\]|\\\\.)*\"|[^],}]*)" "$dir/$1" | sed 's/^"[^"]*": *//' |
    grep -oE '"([^"\\]|\\.)*"|[^][", ]+' | sed -n "${3:-1}p" | sed 's/^"//;s/"$//'
}
stop() { echo "could not be told: $*"; exit 2; }
fine() { echo "the defect does not show: $*"; exit 0; }
status() { sed -n 1p "$dir/$1.status"; }
said() { echo "call $1 was answered $(status "$1"), not $2: $(sed 's/\(.\{300\}\).*/\1/' "$dir/$1")"; }
# ready N STATUS: no story can be told without this status (or one of several, as in 200|201).
ready() { case "|$2|" in *"|$(status "$1")|"*) ;; *) stop "$(said "$1" "$2")" ;; esac; }
# must N STATUS: the failing run went on with this status; with another refusal the defect does not show.
must() {
  case "|$2|" in *"|$(status "$1")|"*) return ;; esac
  case $(status "$1") in 000|401|429|5*) stop "$(said "$1" "$2")" ;; *) fine "$(said "$1" "$2")" ;; esac
}
# keep NAME N MEMBER [WHICH]: let @NAME@ stand for what the answer holds.
keep() {
  value=$(field "$2" "$3" "$4")
  case $value in ''|null) stop "the answer to call $2 has no $3" ;; esac
  name "$1" "$value"
}
# keep_beside NAME N MEMBER TEXT: the same, out of the object in which the text stands.
keep_beside() {
  text=$(printf '%s' "$4" | fill)
  sed 's/{"/\
{"/g' "$dir/$2" | grep -F -e "$text" | sed -n 1p >"$dir/beside"
  keep "$1" beside "$3"
}
# answered N STATUS, holds N TEXT, lacks N TEXT: part of the defect; without it the defect does not show.
answered() { [ "$(status "$1")" = "$2" ] || fine "call $1 was answered $(status "$1"), not $2"; }
has() { grep -q -e "$(printf '%s' "$2" | fill)" "$dir/$1"; }
holds() { has "$@" || fine "the answer to call $1 does not hold $2"; }
lacks() { has "$@" && fine "the answer to call $1 holds $2"; :; }
@FURTHER@
