# Signs one job of signing-mistakes.slow.test.ts per line, with openssl and the tools of a shell.
set -eu

hash() { openssl dgst -sha256 -r | cut -c1-64; }

pairs() { printf '%s' "$1" | tr '&' '\n'; }

json() {
  printf '{\n'
  pairs "$1" | sed -e 's/^\([^=]*\)=\(.*\)$/  "\1": "\2"/' -e '$!s/$/,/'
  printf '\n}'
}

encode() {
  printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n' | tr a-f A-F | sed 's/../%&/g' |
    sed -e 's/%3D/=/g' -e 's/%26/\&/g' -e 's/%2E/./g' | awk '{
      out = ""
      for (i = 1; i <= length($0); ) {
        c = substr($0, i, 3)
        if (c ~ /^%(3[0-9]|4[1-9A-F]|5[0-9A]|6[1-9A-F]|7[0-9A])$/) {
          n = (index("0123456789ABCDEF", substr(c, 2, 1)) - 1) * 16 + index("0123456789ABCDEF", substr(c, 3, 1)) - 1
          out = out sprintf("%c", n); i += 3
        } else if (substr(c, 1, 1) == "%") { out = out c; i += 3 }
        else { out = out substr(c, 1, 1); i += 1 }
      }
      printf "%s", out
    }'
}

part() {
  text=${1#?}
  case $1 in
    s*) pairs "$text" | LC_ALL=C sort | paste -sd'&' - | tr -d '\n' ;;
    u*) encode "$text" ;;
    j*) json "$text" ;;
    h*) printf '%b' "$text" | hash | tr -d '\n' ;;
    H*) json "$text" | hash | tr -d '\n' ;;
    *) printf '%b' "$text" ;;
  esac
}

tab=$(printf '\t')
while IFS= read -r line; do
  IFS=$tab
  # shellcheck disable=SC2086
  set -f; set -- $line; set +f
  unset IFS
  algorithm=$1 encoding=$2 key=$(printf '%b.' "$3"); shift 3
  for spec in "$@"; do part "$spec"; done |
    if [ "$algorithm" = hmac ]; then openssl dgst -sha256 -hmac "${key%.}" -binary; else openssl dgst "-$algorithm" -binary; fi |
    case $encoding in
      hex) od -An -v -tx1 | tr -d ' \n' ;;
      base64) openssl base64 -A ;;
      *) openssl base64 -A | tr '+/' '-_' ;;
    esac
  echo
done
