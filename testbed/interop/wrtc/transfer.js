// SPDX-License-Identifier: GPL-3.0-or-later
//
// A transfer in the agent's format (agents/media/bulk.h), as the messages of a data channel.
'use strict';

const { createXXHash3 } = require('hash-wasm');
const { randomBytes } = require('crypto');

const TRANSFER_BYTES = 1000000;
const MESSAGE_BYTES = 16384;

function header(size) {
    const b = Buffer.alloc(13);
    b.write('MBXF', 0, 'latin1');
    b.writeUInt8(1, 4);
    b.writeBigUInt64BE(BigInt(size), 5);
    return b;
}

function trailer(hash) {
    return Buffer.concat([Buffer.from('MBXE', 'latin1'), Buffer.from(hash, 'hex')]);
}

// All messages of one with random content.
async function makeTransfer() {
    const hash = await createXXHash3();
    const messages = [header(TRANSFER_BYTES)];
    hash.init();
    for (let left = TRANSFER_BYTES; left > 0;) {
        const part = randomBytes(Math.min(left, MESSAGE_BYTES));
        hash.update(part);
        messages.push(part);
        left -= part.length;
    }
    messages.push(trailer(hash.digest('hex')));
    return messages;
}

// A function that takes messages in order and notes in seen what has come of a transfer.
async function transferSink(seen) {
    const hash = await createXXHash3();
    let size = null;
    hash.init();
    return (data) => {
        const b = Buffer.from(data);
        if (size === null) {
            size = b.length === 13 && b.subarray(0, 5).equals(header(0).subarray(0, 5)) ?
                Number(b.readBigUInt64BE(5)) : -1;
        } else if (seen['data-bytes'] < size) {
            hash.update(b);
            seen['data-bytes'] += b.length;
        } else {
            seen['data-intact'] = Number(seen['data-bytes'] === size &&
                b.equals(trailer(hash.digest('hex'))));
        }
    };
}

module.exports = { TRANSFER_BYTES, makeTransfer, transferSink };
