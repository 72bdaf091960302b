package localslack

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
)

const idAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// newID returns prefix and n random characters as Slack's ids have them.
func newID(prefix string, n int) string {
	b := make([]byte, n)
	rand.Read(b)
	for i := range b {
		b[i] = idAlphabet[int(b[i])%len(idAlphabet)]
	}
	return prefix + string(b)
}

// newDigits returns n random decimal digits, the first of them not zero.
func newDigits(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	for i := range b {
		b[i] = '0' + b[i]%10
	}
	b[0] = '1' + (b[0]-'0')%9
	return string(b)
}

// newSecret returns n random bytes in hex.
func newSecret(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// newUUID returns a random UUID, version 4, as envelope ids have it.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	out := make([]byte, 0, 36)
	for i, part := range [][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:]} {
		if i > 0 {
			out = append(out, '-')
		}
		out = hex.AppendEncode(out, part)
	}
	return string(out)
}

// timestamp is a Slack message timestamp in microseconds; it is also a
// message's id in its channel, so it is only ever handled exactly.
type timestamp int64

func (t timestamp) String() string {
	if t == 0 {
		return ""
	}
	var b [24]byte
	out := strconv.AppendInt(b[:0], int64(t)/1e6, 10)
	out = append(out, '.')
	micros := int64(t) % 1e6
	for div := int64(100000); div > 0; div /= 10 {
		out = append(out, byte('0'+micros/div%10))
	}
	return string(out)
}

// parseTS reads "seconds.micros". A short fraction is padded, as Slack does
// with timestamps that clients made themselves.
func parseTS(s string) (timestamp, bool) {
	sec, frac, _ := strings.Cut(s, ".")
	if sec == "" || len(sec) > 12 || len(frac) > 6 {
		return 0, false
	}
	n, err := strconv.ParseInt(sec, 10, 64)
	if err != nil || n < 0 {
		return 0, false
	}
	for len(frac) < 6 {
		frac += "0"
	}
	m, err := strconv.ParseUint(frac, 10, 32)
	if err != nil {
		return 0, false
	}
	return timestamp(n*1e6 + int64(m)), true
}
