// SPDX-License-Identifier: GPL-3.0-or-later
//
//   node peer.js STACK offer|answer send|receive THEIRS OURS SECONDS
//
// A WebRTC end point for build/agent to talk to: libwebrtc (STACK wrtc), or werift, which is
// TypeScript all through and does the data channel alone. Session descriptions are exchanged in the
// files THEIRS (read, waited for) and OURS (written under another name, then renamed). `send` sends
// VP8 and a transfer of 1 MB in the agent's format (agents/media/bulk.h) on a data channel,
// `receive` takes both and checks the transfer. When the agent hangs up, some seconds after the
// transfer is over, or after SECONDS at the latest, it prints what it saw as "key value" lines.
'use strict';

const fs = require('fs');
const { randomBytes } = require('crypto');
const { TRANSFER_BYTES, makeTransfer, transferSink } = require('./transfer');

const [stack, turn, role, theirs, ours, seconds] = process.argv.slice(2);
const sending = role === 'send';
const video = stack === 'wrtc';
const FRAME = { width: 640, height: 360, perSecond: 25, kinds: 8 };
const BUFFERED_MAX = 1 << 20;
const LINGER = sending ? 4000 : 3000; // ms; our sender hangs up before

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const seen = { 'data-bytes': 0, 'data-intact': 0, 'packets': 0, 'bytes': 0, 'plis': 0 };

// ---- the transfer ----

async function sendTransfer(channel) {
    for (const message of await makeTransfer()) {
        while (channel.bufferedAmount > BUFFERED_MAX) {
            await sleep(5);
        }
        channel.send(message);
    }
    seen['data-bytes'] = TRANSFER_BYTES;
}

// ---- descriptions ----

async function readTheirs() {
    while (!fs.existsSync(theirs)) {
        await sleep(20);
    }
    return fs.readFileSync(theirs, 'utf8');
}

async function writeOurs(pc) {
    while (pc.iceGatheringState !== 'complete') {
        await sleep(20);
    }
    fs.writeFileSync(ours + '.part', pc.localDescription.sdp);
    fs.renameSync(ours + '.part', ours);
}

async function signal(pc) {
    if (turn === 'offer') {
        await pc.setLocalDescription(await pc.createOffer());
        await writeOurs(pc);
        await pc.setRemoteDescription({ type: 'answer', sdp: await readTheirs() });
    } else {
        await pc.setLocalDescription(await pc.createAnswer());
        await writeOurs(pc);
    }
}

// ---- video ----

// Noise, so that the encoder takes all the rate it is allowed.
function startCamera(wrtc, source) {
    const bytes = FRAME.width * FRAME.height * 3 / 2;
    const frames = Array.from({ length: FRAME.kinds }, () => new Uint8ClampedArray(randomBytes(bytes)));
    let n = 0;
    return setInterval(() => source.onFrame({
        width: FRAME.width, height: FRAME.height, data: frames[n++ % FRAME.kinds],
    }), 1000 / FRAME.perSecond);
}

function addVideo(wrtc, pc) {
    if (!sending) {
        if (turn === 'offer') {
            pc.addTransceiver('video', { direction: 'recvonly' });
        }
        return null;
    }
    const source = new wrtc.nonstandard.RTCVideoSource();
    pc.addTrack(source.createTrack());
    if (turn === 'offer') {
        pc.getTransceivers()[0].direction = 'sendonly';
    }
    return startCamera(wrtc, source);
}

async function look(pc) {
    for (const s of (await pc.getStats()).values()) {
        if (s.type === 'inbound-rtp' && s.kind === 'video') {
            seen['packets'] = s.packetsReceived;
            seen['bytes'] = s.bytesReceived;
            seen['plis'] = s.pliCount;
            seen['nacks'] = s.nackCount;
        } else if (s.type === 'outbound-rtp' && s.kind === 'video') {
            seen['packets'] = s.packetsSent;
            seen['bytes'] = s.bytesSent;
            seen['resent'] = s.retransmittedPacketsSent;
        } else if (s.type === 'candidate-pair' && s.availableOutgoingBitrate) {
            seen['rate-first'] = seen['rate-first'] || s.availableOutgoingBitrate;
            seen['rate-max'] = Math.max(seen['rate-max'] || 0, s.availableOutgoingBitrate);
        }
    }
}

// ---- the call ----

// werift reports messages and states through event objects of its own.
function listen(channel, onMessage) {
    if (video) {
        channel.binaryType = 'arraybuffer';
    }
    channel.onmessage = (event) => onMessage(event.data);
}

function whenOpen(channel) {
    return new Promise((resolve) => {
        if (channel.readyState === 'open') {
            resolve();
        }
        channel.onopen = resolve;
    });
}

async function main() {
    const library = require(video ? '@roamhq/wrtc' : 'werift');
    const pc = new library.RTCPeerConnection({ iceServers: [] });
    const sink = await transferSink(seen);
    const until = Date.now() + seconds * 1000;
    let channel = null, camera = null, sent = false;

    pc.ondatachannel = (event) => listen(event.channel, sink);
    if (turn === 'answer') {
        await pc.setRemoteDescription({ type: 'offer', sdp: await readTheirs() });
    }
    camera = video ? addVideo(library, pc) : null;
    if (sending || turn === 'offer') {
        channel = pc.createDataChannel('transfer');
    }
    await signal(pc);
    if (sending) {
        whenOpen(channel).then(() => sendTransfer(channel)).then(() => { sent = true; });
    }
    let over = until;
    while (Date.now() < over && !['failed', 'closed'].includes(pc.connectionState)) {
        await sleep(100);
        if (over === until && (sending ? sent && channel.bufferedAmount === 0 : seen['data-intact'])) {
            over = Math.min(until, Date.now() + LINGER);
        }
        if (video && pc.connectionState === 'connected') {
            seen['connected'] = 1;
            await look(pc);
        }
    }
    clearInterval(camera);
    seen['state'] = pc.connectionState;
    for (const [key, value] of Object.entries(seen)) {
        console.log(`${key} ${value}`);
    }
    await pc.close();
    process.exit(0); // the libraries keep threads and timers
}

// Whatever happens: nobody has to wait for this process.
setTimeout(() => {
    console.error('the agent has not answered');
    process.exit(1);
}, (Number(seconds) + 10) * 1000);

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
