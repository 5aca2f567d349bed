// For the tests: reads jobs, one a line, and prints a signature, refused, valid or invalid.
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"gatehouse"
	"net/http"
	"os"
	"strconv"
	"strings"
)

func answer(words []string) string {
	field := func(index int) string {
		bytes, _ := hex.DecodeString(words[index])
		return string(bytes)
	}
	signer := gatehouse.Signer{ClientID: field(2), SecureKey: field(3)}
	name := "X-Sign-V2"
	if field(0) == "1" {
		signer.Digest, name = field(1), "X-Sign"
	}
	target := field(5)
	if field(6) != "" {
		target += "?" + field(6)
	}
	signed, err := signer.Sign(field(4), target, field(7), []byte(field(8)), field(9), field(10))
	if err != nil {
		return "refused"
	}
	if len(words) == 11 {
		return signed.Header.Get(name)
	}
	header := http.Header{}
	for index, name := range map[int]string{12: "X-Timestamp", 13: name} {
		if words[index] != "-" {
			header.Set(name, field(index))
		}
	}
	status, _ := strconv.Atoi(field(11))
	if signed.Verify(status, header, []byte(field(14))) != nil {
		return "invalid"
	}
	return "valid"
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fmt.Println(answer(strings.Split(lines.Text(), "\t")))
	}
}
