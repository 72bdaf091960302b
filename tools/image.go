package tools

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/jail"
)

// ImageConfig is the [image] table: a server on this machine that speaks
// OpenAI's image endpoints (LocalAI, stable-diffusion.cpp's, …).
type ImageConfig struct {
	URL         string `toml:"url"` // up to and with /v1; a loopback address
	Model       string `toml:"model"`
	TimeoutSecs int    `toml:"timeout_secs"` // of one picture; 600 if 0
}

const (
	imageTimeout = 10 * time.Minute
	imageMost    = 64 << 20 // bytes of a picture, and of one that is worked on
	imageSources = 4
)

// imageSizes are what a picture may look like, and its pixels.
var imageSizes = map[string]string{"square": "1024x1024", "landscape": "1536x1024", "portrait": "1024x1536"}

// Validate refuses a server that is not on this machine: what is drawn of is
// often private, and this tool counts as sending nothing.
func (c ImageConfig) Validate() error {
	if c == (ImageConfig{}) {
		return nil
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return fmt.Errorf("[image] url is an http or https address up to and with /v1, not %q", c.URL)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("[image] url = %q: the server has to be on this machine (127.0.0.1, ::1 or localhost)", c.URL)
	}
	if c.TimeoutSecs < 0 {
		return errors.New("[image] timeout_secs is negative")
	}
	return nil
}

// imageGenerate is image_generate. It adds new files under images/ and changes
// none; the model does not see what it drew.
type imageGenerate struct {
	cfg    ImageConfig
	client *http.Client
}

func newImageGenerate(c ImageConfig) *imageGenerate {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if a, ok := conn.RemoteAddr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
			conn.Close()
			return nil, fmt.Errorf("%s is not on this machine", addr) // a name that leads elsewhere
		}
		return conn, nil
	}
	t := imageTimeout
	if c.TimeoutSecs > 0 {
		t = time.Duration(c.TimeoutSecs) * time.Second
	}
	return &imageGenerate{cfg: c, client: &http.Client{
		Timeout: t, Transport: &http.Transport{DialContext: dial, Proxy: nil, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("it redirects, which is not followed") },
	}}
}

func (*imageGenerate) Name() string { return "image_generate" }
func (*imageGenerate) Description() string {
	return "Draw a picture with the image server on this machine. It becomes a new file under images/, with a .json beside it that says how it was made; show it with show_file. You do not see it. The result tells the seed: the same seed with a changed prompt keeps the composition. `images` are up to four files of the workspace to work from."
}
func (*imageGenerate) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"prompt":{"type":"string","minLength":1,"maxLength":4000},` +
		`"size":{"enum":["square","landscape","portrait"],"default":"square"},` +
		`"seed":{"type":"integer","minimum":0,"maximum":2147483647,"description":"Left out: a new one"},` +
		`"images":{"type":"array","maxItems":4,"items":{"type":"string","minLength":1},"description":"Files to work from, relative to the workspace"}` +
		`},"required":["prompt"],"additionalProperties":false}`)
}
func (*imageGenerate) ReadOnly() bool             { return true }
func (*imageGenerate) Capabilities() Capabilities { return Capabilities{} }

// imageOrigin is what stands beside a picture.
type imageOrigin struct {
	Prompt  string        `json:"prompt"`
	Size    string        `json:"size"`
	Seed    int64         `json:"seed"`
	Model   string        `json:"model,omitempty"`
	Sources []imageSource `json:"sources,omitempty"`
	Call    string        `json:"call"`
	Run     string        `json:"run"`
	SHA256  string        `json:"sha256"`
}

type imageSource struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	data   []byte
}

func (g *imageGenerate) Call(ctx context.Context, in json.RawMessage, env *Env) (Output, error) {
	var args struct {
		Prompt, Size string
		Seed         *int64
		Images       []string
	}
	if err := decodeArgs(in, &args); err != nil {
		return Fail(err.Error()), nil
	}
	size, ok := imageSizes[or(args.Size, "square")]
	if !ok || len(args.Images) > imageSources {
		return Fail("size is square, landscape or portrait, and there are at most four images"), nil
	}
	o := imageOrigin{Prompt: args.Prompt, Size: size, Model: g.cfg.Model, Call: env.Call, Run: env.Run}
	if args.Seed != nil {
		o.Seed = *args.Seed
	} else {
		var b [4]byte
		rand.Read(b[:])
		o.Seed = int64(binary.LittleEndian.Uint32(b[:]) >> 1)
	}
	for _, p := range args.Images {
		src, err := imageFile(env, p)
		if err != nil {
			return Fail(err.Error()), nil
		}
		o.Sources = append(o.Sources, src)
	}
	env.Progress("drawing")
	data, err := g.draw(ctx, o)
	if err != nil {
		return Fail(fmt.Sprintf("the image server at %s drew nothing: %s", g.cfg.URL, line(err.Error(), 400))), nil
	}
	kind := imageKind(data)
	if kind == "" {
		return Fail("the image server answered something that is neither PNG, JPEG nor WebP; nothing was written"), nil
	}
	sum := sha256.Sum256(data)
	o.SHA256 = hex.EncodeToString(sum[:])
	name, err := g.keep(env, o, kind, data)
	if err != nil {
		return Fail("the picture could not be written: " + err.Error()), nil
	}
	return Output{Content: fmt.Sprintf("%s (%s, seed %d, %d bytes); how it was made is in %s.json", name, size, o.Seed, len(data), name), What: name}, nil
}

func imageFile(env *Env, p string) (imageSource, error) {
	f, err := env.Workspace.Open(p)
	if err != nil {
		return imageSource{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, imageMost+1))
	switch {
	case err != nil:
		return imageSource{}, fmt.Errorf("cannot read %s: %w", line(p, 200), err)
	case len(data) > imageMost:
		return imageSource{}, fmt.Errorf("%s has more than %d bytes", line(p, 200), imageMost)
	case imageKind(data) == "":
		return imageSource{}, fmt.Errorf("%s is no PNG, JPEG or WebP", line(p, 200))
	}
	sum := sha256.Sum256(data)
	return imageSource{p, hex.EncodeToString(sum[:]), data}, nil
}

// draw asks the server once: a lost answer is not asked again, since the server
// may still be at it. Cancelling closes the connection, which ends the work there.
func (g *imageGenerate) draw(ctx context.Context, o imageOrigin) ([]byte, error) {
	values := map[string]string{"prompt": o.Prompt, "size": o.Size, "seed": strconv.FormatInt(o.Seed, 10), "n": "1", "response_format": "b64_json"}
	if g.cfg.Model != "" {
		values["model"] = g.cfg.Model
	}
	var body bytes.Buffer
	where, kind := "/images/generations", "application/json"
	if len(o.Sources) == 0 {
		m := map[string]any{"prompt": o.Prompt, "size": o.Size, "seed": o.Seed, "n": 1, "response_format": "b64_json"}
		if g.cfg.Model != "" {
			m["model"] = g.cfg.Model
		}
		if err := json.NewEncoder(&body).Encode(m); err != nil {
			return nil, err
		}
	} else {
		where = "/images/edits"
		w := multipart.NewWriter(&body)
		for k, v := range values {
			if err := w.WriteField(k, v); err != nil {
				return nil, err
			}
		}
		for _, s := range o.Sources {
			part, err := w.CreateFormFile("image[]", path.Base(s.Path))
			if err == nil {
				_, err = part.Write(s.data)
			}
			if err != nil {
				return nil, err
			}
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		kind = w.FormDataContentType()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(g.cfg.URL, "/")+where, &body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", kind)
	res, err := g.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 2*imageMost))
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP %d: %s", res.StatusCode, strings.ToValidUTF8(string(raw[:min(len(raw), 300)]), "?"))
	}
	var answer struct {
		Data []struct {
			B64 string `json:"b64_json"`
		}
	}
	if err := json.Unmarshal(raw, &answer); err != nil || len(answer.Data) == 0 || answer.Data[0].B64 == "" {
		return nil, errors.New("its answer holds no picture (b64_json)")
	}
	return base64.StdEncoding.DecodeString(answer.Data[0].B64)
}

// keep writes a new picture and what stands beside it; the record comes first, so
// that no picture lies there without one.
func (g *imageGenerate) keep(env *Env, o imageOrigin, kind string, data []byte) (string, error) {
	about, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return "", err
	}
	stem := fmt.Sprintf("images/%d-%s", o.Seed, o.SHA256[:8])
	for i := 1; ; i++ {
		name := stem + "." + kind
		if i > 1 {
			name = fmt.Sprintf("%s-%d.%s", stem, i, kind)
		}
		switch err := create(env.Workspace, name+".json", append(about, '\n')); {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return "", err
		}
		return name, create(env.Workspace, name, data)
	}
}

// create writes a file that was not there.
func create(j *jail.Jail, name string, data []byte) error {
	f, err := j.Create(name, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// imageKind tells a raster image by its first bytes.
func imageKind(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		return "png"
	case bytes.HasPrefix(b, []byte{0xff, 0xd8, 0xff}):
		return "jpg"
	case len(b) > 12 && slices.Equal(b[:4], []byte("RIFF")) && slices.Equal(b[8:12], []byte("WEBP")):
		return "webp"
	}
	return ""
}
