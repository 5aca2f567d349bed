package gatehouse

import (
	"encoding/json"
	"net/url"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"
)

var forbidden = regexp.MustCompile(`[&\p{Cc}]`)

// signedText is what version 1 signs: the query or the body. The other one must be empty.
func signedText(method, query, contentType string, body []byte) ([]byte, bool) {
	if strings.Contains(" GET HEAD DELETE OPTIONS ", " "+method+" ") {
		text, ok := canonical(query)
		return text, ok && len(body) == 0
	}
	ok := query == "" && strings.Contains(" POST PUT PATCH ", " "+method+" ") &&
		utf8.Valid(body) && !strings.HasPrefix(string(body), "\ufeff")
	mediaType, _, _ := strings.Cut(contentType, ";")
	if ok && strings.EqualFold(strings.TrimSpace(mediaType), "application/x-www-form-urlencoded") {
		return canonical(string(body))
	}
	return body, ok
}

// canonical returns false if two parsers could read the parameters differently.
func canonical(query string) ([]byte, bool) {
	keys, values := []string{}, map[string][]string{}
	for _, pair := range strings.FieldsFunc(query, func(each rune) bool { return each == '&' }) {
		rawKey, rawValue, _ := strings.Cut(pair, "=")
		key, keyError := url.QueryUnescape(rawKey)
		value, valueError := url.QueryUnescape(rawValue)
		ok := keyError == nil && valueError == nil &&
			utf8.ValidString(key) && utf8.ValidString(value)
		if !ok || key == "" || strings.Contains(key, "=") || forbidden.MatchString(key+value) {
			return nil, false
		}
		if values[key] == nil {
			keys = append(keys, key)
		}
		values[key] = append(values[key], value)
	}
	sort.Strings(keys)
	for index, key := range keys {
		keys[index] = key + "=" + strings.Join(values[key], ",")
	}
	return []byte(strings.Join(keys, "&")), true
}

// isEnvelope tells replies from requests, because version 1 signs both alike.
func isEnvelope(status int, body []byte) bool {
	var value map[string]any
	isJSON := json.Unmarshal(body, &value) == nil
	_, hasCode := value["code"].(string)
	_, hasMessage := value["message"].(string)
	_, hasTime := value["timestamp"].(float64)
	return isJSON && value["status"] == float64(status) && hasCode && hasMessage && hasTime
}
