package outbox

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"strconv"
)

// digestOf is the SHA-256 that an approval binds to: tool, pin, directory,
// argument bytes, and each file's path, size and hash, every part with its
// length before it, so that no two different drafts share one.
func digestOf(tool, pin, workspace string, args []byte, files []File) string {
	h := sha256.New()
	put := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		io.WriteString(h, s)
	}
	put("mecha-slack draft 1")
	put(tool)
	put(pin)
	put(workspace)
	put(string(args))
	put(strconv.Itoa(len(files)))
	for _, f := range files {
		put(f.Path)
		put(strconv.FormatInt(f.Bytes, 10))
		put(f.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil))
}
