// SPDX-License-Identifier: GPL-3.0-or-later

// pion is a peer of build/agent that shares no code with it: a WebRTC end point on Pion.
//
//	pion offer|answer send|receive THEIRS OURS SECONDS DATA [DIGEST]
//
// Session descriptions are exchanged in the files THEIRS (read, waited for) and OURS (written under
// another name, then renamed). send: VP8 that is none, and the file DATA as a transfer in the
// agent's format (agents/media/bulk.h), whose digest is given, on a data channel. receive: takes
// both, writes what the transfer carries to DATA. When the agent hangs up, some seconds after the
// transfer is over, or after SECONDS at the latest, it prints what it saw as "name value" lines.
package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/pion/ice/v2"
	"github.com/pion/interceptor"
	"github.com/pion/webrtc"
	"github.com/pion/webrtc/pkg/media"
)

const (
	messageBytes  = 16384
	bufferedMax   = 1 << 20
	frameInterval = 40 * time.Millisecond
	frameBytes    = 5000
	patience      = 10 * time.Second // beyond SECONDS
	linger        = 3 * time.Second  // our sender hangs up before
)

func die(format string, args ...interface{}) {
	fmt.Fprintf(os.Stderr, "pion: "+format+"\n", args...)
	os.Exit(1)
}

func must(err error) {
	if err != nil {
		die("%v", err)
	}
}

// seen is what there is to report; callbacks run in threads of their own.
type seen struct {
	sync.Mutex
	packets, bytes, dataBytes int
	digest                    string
	state                     string
	finished                  chan struct{} // the transfer
}

func (s *seen) do(f func()) {
	s.Lock()
	defer s.Unlock()
	f()
}

// ---- the library, with candidates on loopback and transport-wide feedback both ways ----

func newPeer() *webrtc.PeerConnection {
	engine := &webrtc.MediaEngine{}
	registry := &interceptor.Registry{}
	settings := webrtc.SettingEngine{}
	must(engine.RegisterDefaultCodecs())
	must(webrtc.ConfigureTWCCHeaderExtensionSender(engine, registry))
	must(webrtc.RegisterDefaultInterceptors(engine, registry))
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	api := webrtc.NewAPI(webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(registry),
		webrtc.WithSettingEngine(settings))
	pc, err := api.NewPeerConnection(webrtc.Configuration{})
	must(err)
	return pc
}

// ---- descriptions ----

func readTheirs(path string) string {
	for {
		text, err := os.ReadFile(path)
		if err == nil {
			return string(text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func writeOurs(pc *webrtc.PeerConnection, path string, d webrtc.SessionDescription) {
	gathered := webrtc.GatheringCompletePromise(pc)
	must(pc.SetLocalDescription(d))
	<-gathered
	must(os.WriteFile(path+".part", []byte(pc.LocalDescription().SDP), 0o666))
	must(os.Rename(path+".part", path))
}

func signal(pc *webrtc.PeerConnection, offers bool, theirs, ours string) {
	if offers {
		d, err := pc.CreateOffer(nil)
		must(err)
		writeOurs(pc, ours, d)
		must(pc.SetRemoteDescription(webrtc.SessionDescription{
			Type: webrtc.SDPTypeAnswer, SDP: readTheirs(theirs)}))
		return
	}
	d, err := pc.CreateAnswer(nil)
	must(err)
	writeOurs(pc, ours, d)
}

// ---- data ----

func header(size int) []byte {
	b := append([]byte("MBXF\x01"), make([]byte, 8)...)
	binary.BigEndian.PutUint64(b[5:], uint64(size))
	return b
}

func sendTransfer(channel *webrtc.DataChannel, path, digest string, s *seen) {
	data, err := os.ReadFile(path)
	must(err)
	sum, err := hex.DecodeString(digest)
	must(err)
	must(channel.Send(header(len(data))))
	for at := 0; at < len(data); at += messageBytes {
		end := at + messageBytes
		if end > len(data) {
			end = len(data)
		}
		for channel.BufferedAmount() > bufferedMax {
			time.Sleep(5 * time.Millisecond)
		}
		must(channel.Send(data[at:end]))
	}
	must(channel.Send(append([]byte("MBXE"), sum...)))
	for channel.BufferedAmount() > 0 {
		time.Sleep(5 * time.Millisecond)
	}
	s.do(func() { s.dataBytes = len(data) })
	close(s.finished)
}

// takeTransfer checks the form of a transfer; whoever reads the file checks its content.
func takeTransfer(channel *webrtc.DataChannel, path string, s *seen) {
	out, err := os.Create(path)
	must(err)
	size := -1
	channel.OnMessage(func(m webrtc.DataChannelMessage) {
		switch {
		case size < 0:
			if len(m.Data) != 13 || string(m.Data[:5]) != "MBXF\x01" {
				die("the first message is no header of a transfer")
			}
			size = int(binary.BigEndian.Uint64(m.Data[5:]))
		case s.dataBytes < size:
			_, err := out.Write(m.Data)
			must(err)
			s.do(func() { s.dataBytes += len(m.Data) })
		default:
			if len(m.Data) != 12 || string(m.Data[:4]) != "MBXE" {
				die("the last message is no trailer of a transfer")
			}
			must(out.Close())
			s.do(func() { s.digest = hex.EncodeToString(m.Data[4:]) })
			close(s.finished)
		}
	})
}

// ---- video ----

func drain(r interface {
	Read([]byte) (int, interceptor.Attributes, error)
}) {
	buffer := make([]byte, 1500)
	for {
		if _, _, err := r.Read(buffer); err != nil {
			return
		}
	}
}

func sendVideo(pc *webrtc.PeerConnection) *webrtc.TrackLocalStaticSample {
	track, err := webrtc.NewTrackLocalStaticSample(
		webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8}, "video", "pion")
	must(err)
	sender, err := pc.AddTrack(track) // into the section that the peer has offered, if it has
	must(err)
	go drain(sender) // interceptors work while somebody reads
	return track
}

func takeVideo(pc *webrtc.PeerConnection, offers bool, s *seen) {
	if offers {
		_, err := pc.AddTransceiverFromKind(webrtc.RTPCodecTypeVideo, webrtc.RTPTransceiverInit{
			Direction: webrtc.RTPTransceiverDirectionRecvonly})
		must(err)
	}
	pc.OnTrack(func(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		go drain(receiver)
		buffer := make([]byte, 1500)
		for {
			n, _, err := track.Read(buffer)
			if err != nil {
				return
			}
			s.do(func() { s.packets++; s.bytes += n })
		}
	})
}

// film sends a frame of any content now and then until it is told to stop.
func film(track *webrtc.TrackLocalStaticSample, stop chan struct{}) {
	frame := make([]byte, frameBytes)
	for {
		select {
		case <-stop:
			return
		case <-time.After(frameInterval):
		}
		err := track.WriteSample(media.Sample{Data: frame, Duration: frameInterval})
		if err != nil && err != io.ErrClosedPipe {
			die("%v", err)
		}
	}
}

func main() {
	if len(os.Args) < 7 {
		die("usage: pion offer|answer send|receive THEIRS OURS SECONDS DATA [DIGEST]")
	}
	offers, sends := os.Args[1] == "offer", os.Args[2] == "send"
	theirs, ours, data := os.Args[3], os.Args[4], os.Args[6]
	seconds, err := strconv.Atoi(os.Args[5])
	must(err)
	lasts := time.Duration(seconds) * time.Second
	// Whatever happens: nobody has to wait for this process.
	time.AfterFunc(lasts+patience, func() { die("the agent has not answered") })

	s := &seen{finished: make(chan struct{})}
	pc := newPeer()
	over := make(chan struct{}, 1)
	stop := make(chan struct{})
	pc.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		s.do(func() { s.state = state.String() })
		if state == webrtc.PeerConnectionStateFailed || state == webrtc.PeerConnectionStateClosed {
			over <- struct{}{}
		}
	})
	pc.OnDataChannel(func(channel *webrtc.DataChannel) {
		if !sends {
			takeTransfer(channel, data, s)
		}
	})
	if !offers {
		must(pc.SetRemoteDescription(webrtc.SessionDescription{
			Type: webrtc.SDPTypeOffer, SDP: readTheirs(theirs)}))
	}
	if sends {
		go film(sendVideo(pc), stop)
	} else {
		takeVideo(pc, offers, s)
	}
	if sends || offers {
		channel, err := pc.CreateDataChannel("transfer", nil)
		must(err)
		if sends {
			channel.OnOpen(func() { go sendTransfer(channel, data, os.Args[7], s) })
		}
	}
	signal(pc, offers, theirs, ours)
	select {
	case <-over:
	case <-s.finished:
		select {
		case <-over:
		case <-time.After(linger):
		}
	case <-time.After(lasts):
	}
	close(stop)
	s.do(func() {
		fmt.Printf("packets %d\nbytes %d\ndata-bytes %d\ndata-digest %s\nstate %s\n",
			s.packets, s.bytes, s.dataBytes, s.digest, s.state)
	})
	must(pc.Close())
}
