// SPDX-License-Identifier: GPL-3.0-or-later
//
//   node browser.js offer|answer send|receive THEIRS OURS SECONDS
//
// peer.js for a browser: starts CHROMIUM (default: chromium) without a window, on a page of ours
// that makes the call, and prints what that saw as "key value" lines.
'use strict';

const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const { spawn } = require('child_process');
const { TRANSFER_BYTES, makeTransfer, transferSink } = require('./transfer');

const [turn, role, theirs, ours, seconds] = process.argv.slice(2);
const seen = { 'data-bytes': 0, 'data-intact': 0, 'packets': 0, 'bytes': 0 };
const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'browser-'));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let browser = null;

// ---- what runs in the page ----

async function call(turn, sending, seconds) {
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const post = (where, body) => fetch(where, { method: 'POST', body });
    const pc = new RTCPeerConnection();
    const until = Date.now() + seconds * 1000;
    const seen = {};

    // Noise, so that the encoder takes all the rate it is allowed.
    function camera() {
        const canvas = document.createElement('canvas');
        canvas.width = 640;
        canvas.height = 360;
        const context = canvas.getContext('2d');
        const frames = Array.from({ length: 8 }, () => {
            const image = context.createImageData(canvas.width, canvas.height);
            for (let i = 0; i < image.data.length; i++) {
                image.data[i] = Math.random() * 256;
            }
            return image;
        });
        let n = 0;
        setInterval(() => context.putImageData(frames[n++ % frames.length], 0, 0), 40);
        return canvas.captureStream(25).getVideoTracks()[0];
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
        pc.addTrack(camera());
    } else if (turn === 'offer') {
        pc.addTransceiver('video', { direction: 'recvonly' });
    }
    if (sending || turn === 'offer') {
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
        await sleep(100);
        await look();
    }
    seen['state'] = pc.connectionState;
    pc.close();
    await post('/seen', JSON.stringify(seen));
}

function page() {
    return `<!doctype html><title>call</title><script>${call}
        call('${turn}', ${role === 'send'}, ${Number(seconds)})
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
