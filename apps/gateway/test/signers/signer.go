// Signs one job of signing-mistakes.slow.test.ts per line, with Go's own JSON and URL encoding.
package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"sort"
	"strings"
)

func plain(text string) string {
	return strings.NewReplacer("\\n", "\n", "\\r", "\r").Replace(text)
}

func asJSON(text string) string {
	members := map[string]string{}
	for _, pair := range strings.Split(text, "&") {
		key, value, _ := strings.Cut(pair, "=")
		members[key] = value
	}
	written, _ := json.Marshal(members)
	return string(written)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func part(spec string) string {
	text := plain(spec[1:])
	pairs := strings.Split(text, "&")
	switch spec[0] {
	case 's':
		sort.Slice(pairs, func(i, j int) bool {
			return strings.Split(pairs[i], "=")[0] < strings.Split(pairs[j], "=")[0]
		})
		return strings.Join(pairs, "&")
	case 'u':
		for i, pair := range pairs {
			key, value, _ := strings.Cut(pair, "=")
			pairs[i] = url.QueryEscape(key) + "=" + url.QueryEscape(value)
		}
		return strings.Join(pairs, "&")
	case 'j':
		return asJSON(text)
	case 'h':
		return hash(text)
	case 'H':
		return hash(asJSON(text))
	}
	return text
}

func digest(algorithm, key string, text []byte) []byte {
	switch algorithm {
	case "md5":
		sum := md5.Sum(text)
		return sum[:]
	case "sha1":
		sum := sha1.Sum(text)
		return sum[:]
	case "sha256":
		sum := sha256.Sum256(text)
		return sum[:]
	}
	mac := hmac.New(sha256.New, []byte(plain(key)))
	mac.Write(text)
	return mac.Sum(nil)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		job := strings.Split(lines.Text(), "\t")
		text := ""
		for _, spec := range job[3:] {
			text += part(spec)
		}
		sum := digest(job[0], job[2], []byte(text))
		switch job[1] {
		case "hex":
			fmt.Println(hex.EncodeToString(sum))
		case "base64":
			fmt.Println(base64.StdEncoding.EncodeToString(sum))
		default:
			fmt.Println(base64.URLEncoding.EncodeToString(sum))
		}
	}
}
