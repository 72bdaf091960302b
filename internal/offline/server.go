package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ModelName is the one model that the rules answer to.
const ModelName = "offline-rules"

// Config says where to listen and how to answer. The zero value listens on a
// free loopback port and answers from the rules.
type Config struct {
	// Addr is a loopback HOST:PORT; empty means "127.0.0.1:0".
	Addr string
	// Script answers instead of the rules.
	Script *Script
	// PieceDelay is the pause between two pieces of a stream; 0 means 10 ms,
	// less than 0 none.
	PieceDelay time.Duration
	// ContextWindow is the window in tokens, above which a request is refused
	// as real servers do it; 0 means 65,536.
	ContextWindow int
	// Models lists the accepted model names; nil means [ModelName] alone, or
	// any where there is a script.
	Models []string
	// RefuseTwoUsersInARow also refuses a user message right after another, as
	// some chat templates do.
	RefuseTwoUsersInARow bool

	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: discarded
}

// Server is a running endpoint. Close it.
type Server struct {
	cfg     Config
	http    *http.Server
	url     string
	serving sync.WaitGroup
	stop    context.CancelFunc
	nth     atomic.Int64
}

const (
	defaultPieceDelay    = 10 * time.Millisecond
	defaultContextWindow = 65_536
	maxBodyBytes         = 16 << 20
	closeTimeout         = 500 * time.Millisecond // for a client that is still sending
)

// Start listens and serves until Close, or until ctx ends.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	if cfg.PieceDelay == 0 {
		cfg.PieceDelay = defaultPieceDelay
	}
	if cfg.ContextWindow == 0 {
		cfg.ContextWindow = defaultContextWindow
	}
	if cfg.Models == nil && cfg.Script == nil {
		cfg.Models = []string{ModelName}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	host, _, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("start the offline model on %q: %w", cfg.Addr, err)
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("start the offline model on %q: only a loopback address will do, it asks nobody for a key", cfg.Addr)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("start the offline model: %w", err)
	}
	base, stop := context.WithCancel(ctx)
	s := &Server{cfg: cfg, url: "http://" + l.Addr().String() + "/v1", stop: stop}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("GET /v1/models/{name}", s.models)
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, &apiError{Status: http.StatusNotFound, Type: "invalid_request_error", Message: fmt.Sprintf("Unknown request URL: %s %s.", r.Method, r.URL.Path)})
	})
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelWarn),
	}
	s.serving.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			cfg.Log.Error("the offline model stopped serving", "error", err)
		}
	})
	s.serving.Go(func() {
		<-base.Done()
		// The end of base ends every answer; this waits for them, and no longer
		// than that takes.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if s.http.Shutdown(ctx) != nil {
			s.http.Close()
		}
	})
	return s, nil
}

// URL is the base URL for a client, ending in /v1.
func (s *Server) URL() string { return s.url }

// Close ends every stream and waits until nothing of the server is left.
func (s *Server) Close() {
	s.stop()
	s.serving.Wait()
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	names := s.cfg.Models
	if names == nil {
		names = []string{ModelName}
	}
	type model struct {
		ID            string `json:"id"`
		Object        string `json:"object"`
		Created       int64  `json:"created"`
		OwnedBy       string `json:"owned_by"`
		ContextWindow int    `json:"context_window"`
		ContextLength int    `json:"context_length"` // OpenRouter's and LM Studio's word
		MaxModelLen   int    `json:"max_model_len"`  // vLLM's
	}
	list := make([]model, 0, len(names))
	for _, name := range names {
		list = append(list, model{name, "model", s.cfg.Now().Unix(), "mecha-slack", s.cfg.ContextWindow, s.cfg.ContextWindow, s.cfg.ContextWindow})
	}
	if name := r.PathValue("name"); name != "" {
		i := slices.Index(names, name)
		if i < 0 {
			writeError(w, unknownModel(name))
			return
		}
		writeJSON(w, http.StatusOK, list[i])
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		writeError(w, &apiError{Status: http.StatusRequestEntityTooLarge, Type: "invalid_request_error", Message: "The request body is larger than 16 MB, or was cut off."})
		return
	}
	req, bad := Validate(body, Rules{Models: s.cfg.Models, RefuseTwoUsersInARow: s.cfg.RefuseTwoUsersInARow})
	if bad == nil && tokens(len(body)) > s.cfg.ContextWindow {
		bad = overflow(s.cfg.ContextWindow, tokens(len(body)))
	}
	if bad != nil {
		if s.cfg.Script != nil {
			s.cfg.Script.refused(body, bad)
		}
		s.cfg.Log.Warn("refused a request", "status", bad.Status, "why", bad.Message)
		writeError(w, bad)
		return
	}
	answer := scripted{turn: Turn{}, delay: s.cfg.PieceDelay}
	if s.cfg.Script == nil {
		answer.turn = Decide(req)
	} else if answer, bad = s.cfg.Script.next(req, body, s.cfg.PieceDelay); bad != nil {
		writeError(w, bad)
		return
	}
	answer.turn = answer.turn.withIDs(len(req.Messages))
	answer.limit(req)
	s.respond(w, r, req, body, answer)
}

// respond writes an answer, or the fault that takes its place.
func (s *Server) respond(w http.ResponseWriter, r *http.Request, req Request, body []byte, a scripted) {
	if !wait(r.Context(), a.hold, a.before) {
		return
	}
	if f := a.fault; f != nil && f.Status != 0 {
		f.write(w)
		return
	}
	id := fmt.Sprintf("chatcmpl-offline-%d", s.nth.Add(1))
	usage := usageOf(body, a.turn)
	if a.usage != nil {
		usage = *a.usage
	}
	if req.Stream {
		st := stream{w: w, id: id, model: req.Model, created: s.cfg.Now().Unix(), answer: a}
		if req.StreamOptions != nil && req.StreamOptions.IncludeUsage && !a.noUsage {
			st.usage = &usage
		}
		st.run(r.Context())
		return
	}
	if f := a.fault; f != nil && f.Frame != "" {
		writeJSON(w, http.StatusOK, json.RawMessage(f.Frame))
		return
	}
	finish := a.finish
	msg := &answerMessage{Role: "assistant", ReasoningContent: a.reasoningText(), ToolCalls: a.turn.toolCalls()}
	if a.turn.Text != "" || len(a.turn.Calls) == 0 {
		msg.Content = &a.turn.Text
	}
	c := completion{ID: id, Object: "chat.completion", Created: s.cfg.Now().Unix(), Model: req.Model,
		Choices: []choice{{Message: msg, FinishReason: &finish}}, Usage: &usage}
	if a.noUsage {
		c.Usage = nil
	}
	writeJSON(w, http.StatusOK, c)
}

// wait holds an answer back until hold is closed and the delay has passed; it
// is false when the client left or the server closed first.
func wait(ctx context.Context, hold <-chan struct{}, d time.Duration) bool {
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return false
		}
	}
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a client that left needs no answer
}

func writeError(w http.ResponseWriter, e *apiError) {
	writeJSON(w, e.Status, map[string]any{"error": e})
}
