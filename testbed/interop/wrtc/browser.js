// SPDX-License-Identifier: GPL-3.0-or-later
//
//   node browser.js offer|answer send|receive THEIRS OURS SECONDS [KBIT]
//
// peer.js for a browser: starts CHROMIUM (default: chromium) without a window, on a page of ours
// that makes the call, and prints what that saw as "key value" lines. With KBIT there is no transfer:
// the video alone, of a moving picture at KBIT kbit/s at most, and a line of counters each second.
'use strict';

const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const { spawn } = require('child_process');
const { TRANSFER_BYTES, makeTransfer, transferSink } = require('./transfer');

const [turn, role, theirs, ours, seconds, kbit] = process.argv.slice(2);
const seen = { 'data-bytes': 0, 'data-intact': 0, 'packets': 0, 'bytes': 0 };
const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'browser-'));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let browser = null;

// ---- what runs in the page ----

async function call(turn, sending, seconds, kbit) {
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const post = (where, body) => fetch(where, { method: 'POST', body });
    const pc = new RTCPeerConnection();
    const until = Date.now() + seconds * 1000;
    const seen = {};

    function canvas(width, height) {
        return Object.assign(document.createElement('canvas'), { width, height });
    }

    // Noise, so that the encoder takes all the rate it is allowed.
    function noise() {
        const context = canvas(640, 360).getContext('2d');
        const frames = Array.from({ length: 8 }, () => {
            const image = context.createImageData(640, 360);
            for (let i = 0; i < image.data.length; i++) {
                image.data[i] = Math.random() * 256;
            }
            return image;
        });
        let n = 0;
        setInterval(() => context.putImageData(frames[n++ % frames.length], 0, 0), 40);
        return context.canvas.captureStream(25).getVideoTracks()[0];
    }

    // Grain of several sizes, to be drawn larger than it is.
    function grain(size) {
        const context = canvas(size, size).getContext('2d');
        const image = context.createImageData(size, size);
        for (let i = 0; i < image.data.length; i++) {
            image.data[i] = i % 4 === 3 ? 255 : 64 + Math.random() * 128;
        }
        context.putImageData(image, 0, 0);
        return context.canvas;
    }

    // Layers that move across each other: an encoder can spend more on them, or less.
    function film() {
        const context = canvas(640, 360).getContext('2d');
        const layers = [16, 48, 128].map((size) => grain(size));
        let n = 0;
        setInterval(() => {
            layers.forEach((layer, i) => {
                const phase = n / (30 * (i + 2));
                context.globalAlpha = 1 / (i + 1);
                context.drawImage(layer, -320 + 300 * Math.sin(phase), -460 + 300 * Math.cos(phase * 1.3),
                    1280, 1280);
            });
            n++;
        }, 33);
        return context.canvas.captureStream(30).getVideoTracks()[0];
    }

    async function addVideo() {
        const sender = pc.addTrack(kbit ? film() : noise());
        if (kbit) {
            const parameters = sender.getParameters();
            parameters.encodings[0].maxBitrate = kbit * 1000;
            await sender.setParameters(parameters);
        }
    }

    async function sendTransfer(channel) {
        const bytes = await (await fetch('/transfer')).arrayBuffer();
        const view = new DataView(bytes);
        for (let at = 0; at < bytes.byteLength;) {
            const n = view.getUint32(at);
            while (channel.bufferedAmount > 1 << 20) {
                await sleep(5);
            }
            channel.send(bytes.slice(at + 4, at + 4 + n));
            at += 4 + n;
        }
        seen['data-sent'] = 1;
    }

    async function look() {
        for (const s of (await pc.getStats()).values()) {
            if (s.type === 'inbound-rtp' && s.kind === 'video') {
                seen['packets'] = s.packetsReceived;
                seen['bytes'] = s.bytesReceived;
            } else if (s.type === 'outbound-rtp' && s.kind === 'video') {
                seen['packets'] = s.packetsSent;
                seen['bytes'] = s.bytesSent;
            } else if (s.type === 'candidate-pair' && s.availableOutgoingBitrate) {
                seen['rate-first'] = seen['rate-first'] || s.availableOutgoingBitrate;
                seen['rate-max'] = Math.max(seen['rate-max'] || 0, s.availableOutgoingBitrate);
            }
        }
    }

    const SENT = ['targetBitrate', 'bytesSent', 'retransmittedBytesSent', 'framesEncoded', 'frameHeight',
        'keyFramesEncoded', 'qpSum', 'nackCount', 'pliCount'];
    const RECEIVED = ['bytesReceived', 'packetsLost', 'framesDecoded', 'keyFramesDecoded', 'nackCount',
        'pliCount', 'freezeCount'];

    // What the last second was like; counters count from the beginning.
    async function report() {
        const all = [...(await pc.getStats()).values()];
        const stream = all.find((s) => /^(in|out)bound-rtp$/.test(s.type) && s.kind === 'video');
        const pair = all.find((s) => s.type === 'candidate-pair' && s.nominated);
        if (stream && pair) {
            const line = [`now ${Date.now()}`, `available ${pair.availableOutgoingBitrate}`,
                `rtt ${pair.currentRoundTripTime}`];
            for (const key of sending ? SENT : RECEIVED) {
                line.push(`${key} ${stream[key]}`);
            }
            await post('/second', line.join(' '));
        }
    }

    async function describe(description) {
        await pc.setLocalDescription(description);
        while (pc.iceGatheringState !== 'complete') {
            await sleep(20);
        }
        await post('/ours', pc.localDescription.sdp);
    }

    pc.ondatachannel = (event) => {
        let last = Promise.resolve();
        event.channel.binaryType = 'arraybuffer';
        event.channel.onmessage = (m) => {
            last = last.then(() => post('/message', m.data)); // in order
        };
    };
    if (turn === 'answer') {
        const sdp = await (await fetch('/theirs')).text();
        await pc.setRemoteDescription({ type: 'offer', sdp });
    }
    if (sending) {
        await addVideo();
    } else if (turn === 'offer') {
        pc.addTransceiver('video', { direction: 'recvonly' });
    }
    if (!kbit && (sending || turn === 'offer')) {
        const channel = pc.createDataChannel('transfer');
        if (sending) {
            channel.onopen = () => sendTransfer(channel);
        }
    }
    if (turn === 'offer') {
        await describe(await pc.createOffer());
        const sdp = await (await fetch('/theirs')).text();
        await pc.setRemoteDescription({ type: 'answer', sdp });
    } else {
        await describe(await pc.createAnswer());
    }
    while (Date.now() < until) {
        await sleep(kbit ? 1000 : 100);
        await look();
        if (kbit) {
            await report();
        }
    }
    seen['state'] = pc.connectionState;
    pc.close();
    await post('/seen', JSON.stringify(seen));
}

function page() {
    return `<!doctype html><title>call</title><script>${call}
        call('${turn}', ${role === 'send'}, ${Number(seconds)}, ${Number(kbit || 0)})
            .catch((e) => fetch('/failed', { method: 'POST', body: String(e) }));</script>`;
}

// ---- what serves it ----

async function body(request) {
    const parts = [];
    for await (const part of request) {
        parts.push(part);
    }
    return Buffer.concat(parts);
}

function finish(status) {
    if (browser) {
        browser.kill('SIGKILL');
    }
    for (const [key, value] of Object.entries(seen)) {
        console.log(`${key} ${value}`);
    }
    setTimeout(() => {
        fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
        process.exit(status);
    }, 200);
}

async function framed() {
    return Buffer.concat((await makeTransfer()).map((m) => {
        const length = Buffer.alloc(4);
        length.writeUInt32BE(m.length);
        return Buffer.concat([length, m]);
    }));
}

async function serve(request, sink) {
    switch (request.url) {
    case '/': return page();
    case '/transfer': return framed();
    case '/theirs':
        while (!fs.existsSync(theirs)) {
            await sleep(20);
        }
        return fs.readFileSync(theirs);
    case '/ours':
        fs.writeFileSync(ours + '.part', await body(request));
        fs.renameSync(ours + '.part', ours);
        return '';
    case '/message':
        sink(await body(request));
        return '';
    case '/second':
        console.log(String(await body(request)));
        return '';
    case '/seen':
        Object.assign(seen, JSON.parse(await body(request)));
        if (seen['data-sent']) {
            seen['data-bytes'] = TRANSFER_BYTES;
        }
        finish(0);
        return '';
    case '/failed':
        console.error(String(await body(request)));
        finish(1);
        return '';
    default: return null;
    }
}

async function main() {
    const sink = await transferSink(seen);
    const server = http.createServer(async (request, response) => {
        const answer = await serve(request, sink);
        response.writeHead(answer === null ? 404 : 200, {
            'Content-Type': request.url === '/' ? 'text/html' : 'application/octet-stream',
        });
        response.end(answer || '');
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    browser = spawn(process.env.CHROMIUM || 'chromium', [
        '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
        '--no-first-run', '--disable-background-networking', '--disable-component-update',
        '--disable-features=WebRtcHideLocalIpsWithMdns', // another browser must find us by them
        `--user-data-dir=${profile}`, `http://127.0.0.1:${server.address().port}/`,
    ], { stdio: 'ignore' });
    browser.on('error', (error) => {
        console.error(String(error));
        finish(1);
    });
    setTimeout(() => {
        console.error('the call has not come to an end');
        finish(1);
    }, (Number(seconds) + 20) * 1000);
}

main();
