// Lists devices, creates one and searches for it. Every reply is verified.
//
//	GATEWAY_URL=… CLIENT_ID=… SECURE_KEY=… DEVICE_ID=… go run ./example [version [digest]]
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"gatehouse"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

var (
	gateway  = strings.TrimRight(setting("GATEWAY_URL"), "/")
	deviceID = setting("DEVICE_ID")
	signer   = gatehouse.Signer{ClientID: setting("CLIENT_ID"), SecureKey: setting("SECURE_KEY")}
	client   = http.Client{
		Timeout: 10 * time.Second,
		// By default, the client sends the signature to every server that a redirect names.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
)

func setting(name string) string {
	value := os.Getenv(name)
	if value == "" {
		fmt.Fprintf(os.Stderr, "Set %s.\n", name)
		os.Exit(1)
	}
	return value
}

func call(method, target string, value any) error {
	var body []byte
	contentType := ""
	if value != nil {
		contentType = "application/json"
		body, _ = json.Marshal(value)
	}
	request, err := http.NewRequest(method, gateway+target, bytes.NewReader(body))
	if err != nil {
		return err
	}
	signed, err := signer.Sign(method, target, contentType, body, "", "")
	if err != nil {
		return err
	}
	request.Header = signed.Header
	reply, err := client.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	received, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	if err := signed.Verify(reply.StatusCode, reply.Header, received); err != nil {
		// The reply may name a mistake of this program. Print it, but do not act on it.
		return fmt.Errorf("%d %s\n%w", reply.StatusCode, received, err)
	}
	fmt.Println(reply.StatusCode, string(received))
	return nil
}

func run() error {
	if len(os.Args) > 1 && os.Args[1] == "1" {
		signer.Digest = "SHA-256"
		if len(os.Args) > 2 {
			signer.Digest = os.Args[2]
		}
	}
	if err := call("GET", "/api/device?pageSize=20&pageIndex=0", nil); err != nil {
		return err
	}
	name := "Pump 张三 1+1"
	device := map[string]string{
		"id": deviceID, "name": name, "productId": "p1", "productName": "P 1"}
	if err := call("POST", "/device-instance", device); err != nil {
		return err
	}
	query := url.Values{"where": {`name like "%` + name + `%"`}, "pageSize": {"20"}}
	return call("GET", "/device/instance/_query?"+query.Encode(), nil)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
