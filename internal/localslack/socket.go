package localslack

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

const (
	socketLife      = time.Hour
	debugSocketLife = 6 * time.Minute
	warnBefore      = 10 * time.Second // between a disconnect's warning and the close
	pingEvery       = 10 * time.Second
	silence         = 60 * time.Second // without any frame the peer is taken for gone
	writeWait       = 10 * time.Second
	outBuffer       = 1024    // frames that one socket may be behind
	maxFrame        = 1 << 20 // bytes of one frame of the app
)

// socket is one open Socket Mode connection. Its reader runs in the handshake's
// goroutine, its writer in one of its own; end stops both.
type socket struct {
	conn    *websocket.Conn
	out     chan []byte
	stop    chan struct{}
	once    sync.Once
	dead    atomic.Bool // half open: nothing is read, written or pinged any more
	mu      sync.Mutex
	refresh *timer // what ends it next
	ended   bool
}

// schedule replaces what ends the socket next, unless it has ended.
func (s *socket) schedule(c *clock, after time.Duration, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh.Stop()
	if !s.ended {
		s.refresh = c.AfterFunc(after, f)
	}
}

func (s *socket) end() {
	s.once.Do(func() {
		s.mu.Lock()
		s.ended = true
		s.refresh.Stop()
		s.mu.Unlock()
		close(s.stop)
		s.conn.Close()
	})
}

// run serves conn until one side ends it.
func (s *sockets) run(conn *websocket.Conn, life time.Duration) {
	sock := &socket{conn: conn, out: make(chan []byte, outBuffer), stop: make(chan struct{})}
	host := "localslack-" + s.app.id
	conn.SetReadLimit(maxFrame)

	// hello comes first, so it is queued before the socket is one that gets envelopes.
	s.mu.Lock()
	full := s.closed || len(s.open) >= maxSockets
	if !full {
		s.open = append(s.open, sock)
		sock.out <- encode(map[string]any{"type": "hello", "num_connections": len(s.open),
			"connection_info": map[string]any{"app_id": s.app.id},
			"debug_info": map[string]any{"host": host, "build_number": 1, "started": s.w.cfg.Now().UTC().Format("2006-01-02 15:04:05.000"),
				"approximate_connection_time": int(life / time.Second)}})
	}
	s.mu.Unlock()
	if full {
		s.w.inspector.add(entry{At: s.w.cfg.Now(), Kind: "socket", Method: "too_many_websockets"})
		conn.SetWriteDeadline(time.Now().Add(writeWait))
		conn.WriteMessage(websocket.TextMessage, disconnectFrame("too_many_websockets", host))
		conn.Close()
		return
	}
	s.w.inspector.add(entry{At: s.w.cfg.Now(), Kind: "socket", Method: "open", OK: true})
	sock.schedule(s.w.clock, life-warnBefore, func() { s.warn(sock) })

	s.w.group.Go(func() { s.write(sock) }) // ended by sock.end
	s.read(sock)
	sock.end()
	s.drop(sock)
	s.w.inspector.add(entry{At: s.w.cfg.Now(), Kind: "socket", Method: "close", OK: true})
}

func disconnectFrame(reason, host string) []byte {
	return encode(map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]any{"host": host}})
}

// read takes acks until the connection ends.
func (s *sockets) read(sock *socket) {
	alive := func() { sock.conn.SetReadDeadline(time.Now().Add(silence)) }
	alive()
	sock.conn.SetPongHandler(func(string) error { alive(); return nil })
	answer := sock.conn.PingHandler()
	sock.conn.SetPingHandler(func(data string) error {
		if sock.dead.Load() {
			return nil
		}
		alive()
		return answer(data)
	})
	for {
		kind, frame, err := sock.conn.ReadMessage()
		if err != nil {
			return
		}
		alive()
		if kind == websocket.TextMessage && !sock.dead.Load() {
			s.ack(frame)
		}
	}
}

// write sends frames and pings until the socket ends.
func (s *sockets) write(sock *socket) {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		var err error
		select {
		case <-sock.stop:
			return
		case frame := <-sock.out:
			switch {
			case sock.dead.Load():
			case frame == nil: // the end, once all before it is written
				sock.end()
				return
			default:
				sock.conn.SetWriteDeadline(time.Now().Add(writeWait))
				err = sock.conn.WriteMessage(websocket.TextMessage, frame)
			}
		case <-ping.C:
			if !sock.dead.Load() {
				err = sock.conn.WriteControl(websocket.PingMessage, []byte("ping"), time.Now().Add(writeWait))
			}
		}
		if err != nil {
			sock.end()
			return
		}
	}
}

// warn announces the end of a socket that has lived long enough, and ends it.
func (s *sockets) warn(sock *socket) {
	s.say(sock, "warning")
	sock.schedule(s.w.clock, warnBefore, func() { s.disconnect(sock, "refresh_requested") })
}

// say queues a disconnect frame, if there is room: who is that far behind is
// going to be cut off anyway.
func (s *sockets) say(sock *socket, reason string) {
	s.w.inspector.add(entry{At: s.w.cfg.Now(), Kind: "socket", Method: reason, OK: true})
	select {
	case sock.out <- disconnectFrame(reason, "localslack-"+s.app.id):
	default:
	}
}

// disconnect asks the app to reconnect and closes behind that frame.
func (s *sockets) disconnect(sock *socket, reason string) {
	s.say(sock, reason)
	select {
	case sock.out <- nil:
	default:
		sock.end()
	}
}
