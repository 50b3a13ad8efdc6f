package faultproxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that sends back what it gets, and tells what it got once a client has ended.
func echo(t *testing.T) (addr string, got <-chan []byte) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan []byte, 16)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				var all bytes.Buffer
				_, _ = io.Copy(conn, io.TeeReader(conn, &all))
				received <- all.Bytes()
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return listener.Addr().String(), received
}

func start(t *testing.T) (*Proxy, <-chan []byte) {
	t.Helper()
	addr, got := echo(t)
	proxy, err := Listen("ws://" + addr + "/rpc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	return proxy, got
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// expect sends a text and wants it back.
func expect(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, len(text))
	if _, err := io.ReadFull(conn, buf); err != nil || string(buf) != text {
		t.Fatalf("got %q, %v", buf, err)
	}
}

// expectReset makes a new connection, which is reset right then or soon.
func expectReset(t *testing.T, p *Proxy) {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
		conn.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v", err)
	}
}

func TestTransparent(t *testing.T) {
	t.Parallel()
	p, got := start(t)
	conn := dial(t, p)
	big := string(bytes.Repeat([]byte("0123456789"), 100_000))
	go func() { _, _ = conn.Write([]byte(big)) }()
	buf := make([]byte, len(big))
	if _, err := io.ReadFull(conn, buf); err != nil || string(buf) != big {
		t.Errorf("%v", err)
	}
	if p.Accepted() != 1 || p.Active() != 1 {
		t.Errorf("%d accepted, %d active", p.Accepted(), p.Active())
	}
	conn.Close()
	if all := <-got; string(all) != big {
		t.Errorf("the server got %d bytes", len(all))
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	conn := dial(t, p)
	expect(t, conn, "a")
	p.Reset()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v", err)
	}
	expect(t, dial(t, p), "b")
}

func TestFin(t *testing.T) {
	t.Parallel()
	p, got := start(t)
	conn := dial(t, p)
	expect(t, conn, "a")
	p.Fin()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
	if all := <-got; string(all) != "a" {
		t.Errorf("the server got %q", all)
	}
}

func TestHalfClose(t *testing.T) {
	t.Parallel()
	p, got := start(t)
	conn := dial(t, p)
	expect(t, conn, "a")
	p.HalfClose()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
	if _, err := conn.Write([]byte("b")); err != nil {
		t.Error(err)
	}
	conn.Close()
	if all := <-got; string(all) != "ab" {
		t.Errorf("the server got %q", all)
	}
}

func TestBlackhole(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	conn := dial(t, p)
	expect(t, conn, "a")
	p.Blackhole(true)
	if _, err := conn.Write([]byte("lost")); err != nil {
		t.Error(err)
	}
	late := dial(t, p) // accepted, and as silent
	if _, err := late.Write([]byte("lost")); err != nil {
		t.Error(err)
	}
	for _, c := range []net.Conn{conn, late} {
		if err := c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Error(err)
		}
		if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %d bytes, %v", n, err)
		}
	}
	p.Restore()
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Error(err)
	}
	expect(t, conn, "b") // what was lost stays lost
}

func TestCut(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	conn := dial(t, p)
	expect(t, conn, "a")
	p.Cut()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v", err)
	}
	expectReset(t, p)
	p.Restore()
	expect(t, dial(t, p), "b")
}

func TestDelayAndDribble(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]func(*Proxy){
		"delay":   func(p *Proxy) { p.Delay(50 * time.Millisecond) },
		"dribble": func(p *Proxy) { p.Dribble(1000) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := start(t)
			conn := dial(t, p)
			slow(p)
			began := time.Now()
			expect(t, conn, "0123456789012345678901234567890123456789012345678901234567890123")
			if took := time.Since(began); took < 60*time.Millisecond {
				t.Errorf("64 bytes there and back took only %s", took)
			}
		})
	}
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	p.Delay(time.Hour)
	conn := dial(t, p)
	if _, err := conn.Write([]byte("a")); err != nil {
		t.Error(err)
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still there")
	}
}

func TestTargetThatIsNotThere(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	p, err := Listen(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	expectReset(t, p)
	if _, err := Listen("ws://\x7f"); err == nil {
		t.Error("no error")
	}
}
