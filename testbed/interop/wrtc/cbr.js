// SPDX-License-Identifier: GPL-3.0-or-later
//
//   node cbr.js send HOST PORT SECONDS=KBIT...
//   node cbr.js receive PORT
//
// UDP that heeds nothing, beside programs that are not ours: IP packets of 1500 bytes at KBIT kbit/s
// from so many SECONDS on, until it is killed.
'use strict';

const dgram = require('dgram');

const IP_BYTES = 1500;
const [what, ...rest] = process.argv.slice(2);

function send(host, port, steps) {
    const socket = dgram.createSocket('udp4');
    const payload = Buffer.alloc(IP_BYTES - 28);
    const begin = process.hrtime.bigint();
    let owed = 0, last = 0;

    setInterval(() => {
        const now = Number(process.hrtime.bigint() - begin) / 1e9;
        const step = steps.filter(([from]) => from <= now).pop();
        owed = Math.min(owed + (step ? step[1] : 0) * 125 * (now - last), 10 * IP_BYTES);
        last = now;
        for (; owed >= IP_BYTES; owed -= IP_BYTES) {
            socket.send(payload, port, host);
        }
    }, 1);
}

if (what === 'send') {
    const [host, port, ...steps] = rest;
    send(host, Number(port), steps.map((step) => step.split('=').map(Number)));
} else {
    dgram.createSocket('udp4').bind(Number(rest[0]));
}
