// SPDX-License-Identifier: GPL-3.0-or-later

// quicgo is a peer of build/agent that shares no code with it: RTP over QUIC and a QUIC data channel
// on quic-go. It prints what it saw as "name value" lines, and ends with status 0 if the connection
// came to the end it was told to expect.
//
//	quicgo client ADDR:PORT [ALPN]     sends what a small sender would
//	quicgo server ADDR:PORT [ALPN]     takes what a sender sends, until it closes
//	quicgo server-plain ADDR:PORT      the same without DATAGRAM support
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"sync"
	"time"

	"github.com/lucas-clemente/quic-go"
)

const (
	alpn      = "roq-qdc-mux"
	mediaFlow = 2
	channel   = 0
	limit     = 20 * time.Second
	// How long the last packets may need before the connection closes over them.
	settle = 500 * time.Millisecond
)

func die(format string, args ...interface{}) {
	fmt.Fprintf(os.Stderr, "quicgo: "+format+"\n", args...)
	os.Exit(1)
}

func say(name string, value interface{}) {
	fmt.Println(name, value)
}

// credentials makes a self-signed P-256 certificate, as both sides of a call do.
func credentials(protocol string) *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		die("%v", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		die("%v", err)
	}
	return &tls.Config{
		Certificates:       []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		NextProtos:         []string{protocol},
		ClientAuth:         tls.RequireAnyClientCert,
		InsecureSkipVerify: true, // nobody vouches for a self-signed certificate
		MinVersion:         tls.VersionTLS13,
	}
}

func config(datagrams bool) *quic.Config {
	return &quic.Config{
		Versions:              []quic.VersionNumber{quic.Version1},
		EnableDatagrams:       datagrams,
		MaxIncomingUniStreams: 1 << 16,
		HandshakeIdleTimeout:  limit / 2,
		MaxIdleTimeout:        limit / 2,
	}
}

// rtp makes a packet of a frame of one packet, as the agent's packetizer would.
func rtp(seq uint16, timestamp, frame uint32, payload int) []byte {
	p := make([]byte, 12+8+payload)
	p[0] = 0x80
	p[1] = 0x80 | 96
	binary.BigEndian.PutUint16(p[2:], seq)
	binary.BigEndian.PutUint32(p[4:], timestamp)
	binary.BigEndian.PutUint32(p[8:], 0xfeedf00d)
	binary.BigEndian.PutUint32(p[12:], frame)
	binary.BigEndian.PutUint16(p[18:], 1)
	return p
}

func varint(v uint64) []byte {
	switch {
	case v < 1<<6:
		return []byte{byte(v)}
	case v < 1<<14:
		return []byte{0x40 | byte(v>>8), byte(v)}
	default:
		b := make([]byte, 4)
		binary.BigEndian.PutUint32(b, uint32(v)|0x80000000)
		return b
	}
}

func readVarint(r *bytes.Reader) (uint64, error) {
	first, err := r.ReadByte()
	if err != nil {
		return 0, err
	}
	v := uint64(first & 0x3f)
	for n := 1<<(first>>6) - 1; n > 0; n-- {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		v = v<<8 | uint64(b)
	}
	return v, nil
}

// message sends one stream.
func message(conn quic.Connection, parts ...[]byte) {
	s, err := conn.OpenUniStream()
	if err != nil {
		die("opening a stream: %v", err)
	}
	if _, err = s.Write(bytes.Join(parts, nil)); err == nil {
		err = s.Close()
	}
	if err != nil {
		die("writing a stream: %v", err)
	}
}

func client(address, protocol string) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn, err := quic.DialAddrContext(ctx, address, credentials(protocol), config(true))
	if err != nil {
		var transport *quic.TransportError
		if errors.As(err, &transport) {
			say("handshake-error", fmt.Sprintf("0x%x", uint64(transport.ErrorCode)))
			say("remote", transport.Remote)
		}
		die("handshake: %v", err)
	}
	say("alpn", conn.ConnectionState().TLS.NegotiatedProtocol)
	if err := conn.SendMessage(append(varint(mediaFlow), rtp(100, 9000, 0, 1000)...)); err != nil {
		die("datagram: %v", err)
	}
	packet := rtp(101, 12000, 1, 500)
	message(conn, varint(mediaFlow), varint(uint64(len(packet))), packet)
	// OPEN: reliable and ordered, priority and reliability 0, label "go", no protocol.
	message(conn, varint(channel), []byte{0x00, 0x00, 0x00, 0x00, 0x02, 'g', 'o', 0x00})
	// An endless transfer and 1000 bytes of it: DATA with sequence number, and with length.
	message(conn, varint(channel), []byte{0x06, 0x00},
		[]byte("MBXF\x01\xff\xff\xff\xff\xff\xff\xff\xff"))
	message(conn, varint(channel), []byte{0x07, 0x01}, varint(1000), make([]byte, 1000))
	time.Sleep(settle)
	if err := conn.Context().Err(); err != nil {
		die("the agent closed the connection")
	}
	if err := conn.CloseWithError(0, ""); err != nil {
		die("closing: %v", err)
	}
	time.Sleep(settle) // quic-go answers the agent's packets with another CONNECTION_CLOSE
}

// seen is what a server has received.
type seen struct {
	sync.Mutex
	datagrams, packets, opens, closes, messages int
	mediaBytes, dataBytes                       int
	bad                                         string
}

func (s *seen) media(p []byte) {
	if len(p) < 20 || p[0] != 0x80 || p[1]&0x7f != 96 {
		s.bad = "not an RTP packet of ours"
	}
	s.mediaBytes += len(p)
}

func (s *seen) stream(data []byte) {
	r := bytes.NewReader(data)
	id, err := readVarint(r)
	if err != nil {
		s.bad = "stream without identifier"
		return
	}
	if id == mediaFlow {
		for r.Len() > 0 {
			n, err := readVarint(r)
			if err != nil || n > uint64(r.Len()) {
				s.bad = "RoQ stream ends inside a packet"
				return
			}
			p := make([]byte, n)
			io.ReadFull(r, p)
			s.packets++
			s.media(p)
		}
		return
	}
	kind, err := readVarint(r)
	switch {
	case id != channel || err != nil:
		s.bad = fmt.Sprintf("stream of identifier %d", id)
	case kind == 0:
		s.opens++
	case kind == 1:
		s.closes++
	case kind&^3 == 4:
		if kind&2 != 0 {
			readVarint(r)
		}
		if kind&1 != 0 {
			readVarint(r)
		}
		s.messages++
		s.dataBytes += r.Len()
	default:
		s.bad = fmt.Sprintf("message type %d", kind)
	}
}

func (s *seen) readDatagrams(conn quic.Connection, done *sync.WaitGroup) {
	defer done.Done()
	for {
		data, err := conn.ReceiveMessage()
		if err != nil {
			return
		}
		s.Lock()
		s.datagrams++
		if len(data) < 2 || data[0] != mediaFlow {
			s.bad = "datagram of another flow"
		} else {
			s.media(data[1:])
		}
		s.Unlock()
	}
}

func (s *seen) readStreams(conn quic.Connection, done *sync.WaitGroup) {
	defer done.Done()
	for {
		stream, err := conn.AcceptUniStream(context.Background())
		if err != nil {
			return
		}
		done.Add(1)
		go func() {
			defer done.Done()
			data, err := io.ReadAll(stream)
			if err == nil {
				s.Lock()
				s.stream(data)
				s.Unlock()
			}
		}()
	}
}

func server(address, protocol string, datagrams bool) {
	listener, err := quic.ListenAddr(address, credentials(protocol), config(datagrams))
	if err != nil {
		die("%v", err)
	}
	say("listening", listener.Addr())
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn, err := listener.Accept(ctx)
	if err != nil {
		die("no connection: %v", err)
	}
	var s seen
	var done sync.WaitGroup
	done.Add(1)
	go s.readStreams(conn, &done)
	if datagrams {
		done.Add(1)
		go s.readDatagrams(conn, &done)
	}
	done.Wait()
	<-conn.Context().Done()
	_, err = conn.AcceptUniStream(context.Background())
	say("alpn", conn.ConnectionState().TLS.NegotiatedProtocol)
	say("certificates", len(conn.ConnectionState().TLS.PeerCertificates))
	say("datagrams", s.datagrams)
	say("stream-packets", s.packets)
	say("media-bytes", s.mediaBytes)
	say("opens", s.opens)
	say("closes", s.closes)
	say("messages", s.messages)
	say("data-bytes", s.dataBytes)
	if s.bad != "" {
		die("%s", s.bad)
	}
	var application *quic.ApplicationError
	if !errors.As(err, &application) || !application.Remote {
		die("the connection ended with %v", err)
	}
	say("close-code", uint64(application.ErrorCode))
}

func main() {
	if len(os.Args) < 3 {
		die("usage: quicgo client|server|server-plain ADDR:PORT [ALPN]")
	}
	protocol := alpn
	if len(os.Args) > 3 {
		protocol = os.Args[3]
	}
	switch os.Args[1] {
	case "client":
		client(os.Args[2], protocol)
	case "server":
		server(os.Args[2], protocol, true)
	case "server-plain":
		server(os.Args[2], protocol, false)
	default:
		die("client, server or server-plain, not %q", os.Args[1])
	}
}
