// Package gatehouse signs requests to Gatehouse and verifies its replies (docs/signing.md).
package gatehouse

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	// ErrRefused means that the gateway would reject the request, so it gets no signature.
	ErrRefused = errors.New("the gateway would reject this request")
	// ErrUnverified means that the gateway did not sign this reply for this request.
	ErrUnverified = errors.New("the reply is not signed by the gateway")
	// ErrDigest means that the Digest of the Signer is wrong.
	ErrDigest = errors.New(`the digest is "SHA-256" or "MD5" for version 1, and "" for version 2`)

	timestamps = regexp.MustCompile(`^[1-9][0-9]{12}$`)
	nonces     = regexp.MustCompile(`^[A-Za-z0-9_-]{16,64}$`)
)

const tolerance = 300_000 // milliseconds

// Signer signs with version 2, or with version 1 if Digest is "SHA-256" or "MD5".
type Signer struct{ ClientID, SecureKey, Digest string }

// Signed is a signed request. Send it with the headers of Header, then Verify the reply.
type Signed struct {
	Header http.Header
	signer Signer
}

// Sign signs a request exactly as it is sent. An empty timestamp is now, an empty nonce random.
// In version 1, two equal requests in one millisecond have the same signature.
func (s Signer) Sign(
	method, target, contentType string, body []byte, timestamp, nonce string,
) (*Signed, error) {
	if s.Digest != "" && s.Digest != "SHA-256" && s.Digest != "MD5" {
		return nil, ErrDigest
	}
	if timestamp == "" {
		timestamp = strconv.FormatInt(time.Now().UnixMilli(), 10)
	}
	random := make([]byte, 18)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	} else if nonce == "" {
		nonce = base64.URLEncoding.EncodeToString(random)
	}
	signed := &Signed{http.Header{"X-Client-Id": {s.ClientID}, "X-Timestamp": {timestamp}}, s}
	if contentType != "" {
		signed.Header.Set("Content-Type", contentType)
	}
	path, query, _ := strings.Cut(target, "?")
	lines := []string{"GATEHOUSE-V2", method, path, query, contentType, hash(body),
		s.ClientID, timestamp, nonce}
	ok := nonces.MatchString(nonce) && !strings.Contains(strings.Join(lines, ""), "\n")
	if s.Digest == "" {
		signed.Header.Set("X-Nonce", nonce)
		signed.Header.Set("X-Sign-V2", s.hmac(lines))
	} else {
		body, ok = signedText(method, query, contentType, body)
		signed.Header.Set("X-Sign", s.digest(body, timestamp))
	}
	if ok && timestamps.MatchString(timestamp) {
		return signed, nil
	}
	return nil, ErrRefused
}

// Verify returns nil if the gateway signed this reply for this request.
func (r *Signed) Verify(status int, header http.Header, body []byte) error {
	timestamp, name := header.Get("X-Timestamp"), "X-Sign-V2"
	nonce := r.Header.Get("X-Nonce")
	expected, ok := r.signer.hmac([]string{
		"GATEHOUSE-V2-REPLY", strconv.Itoa(status), nonce, hash(body), timestamp}), true
	if r.signer.Digest != "" {
		sent, _ := strconv.ParseInt(r.Header.Get("X-Timestamp"), 10, 64)
		replied, _ := strconv.ParseInt(timestamp, 10, 64)
		timely := timestamps.MatchString(timestamp) &&
			replied-sent <= tolerance && sent-replied <= tolerance
		ok = timely && isEnvelope(status, body)
		expected, name = r.signer.digest(body, timestamp), "X-Sign"
	}
	if ok && hmac.Equal([]byte(expected), []byte(strings.ToLower(header.Get(name)))) {
		return nil
	}
	return ErrUnverified
}

func (s Signer) digest(text []byte, timestamp string) string {
	all := []byte(string(text) + timestamp + s.SecureKey)
	if s.Digest == "MD5" {
		return fmt.Sprintf("%x", md5.Sum(all))
	}
	return hash(all)
}

func (s Signer) hmac(lines []string) string {
	mac := hmac.New(sha256.New, []byte(s.SecureKey))
	mac.Write([]byte(strings.Join(lines, "\n")))
	return fmt.Sprintf("%x", mac.Sum(nil))
}

func hash(body []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(body))
}
