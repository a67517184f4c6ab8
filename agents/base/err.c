/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/err.h"

const char *err_text(int code)
{
    switch (code) {
    case 0: return "success";
    case ERR_MALFORMED: return "malformed input";
    case ERR_SPACE: return "buffer too small";
    case ERR_AGAIN: return "nothing to do now";
    case ERR_NOMEM: return "out of memory";
    case ERR_CONFIG: return "bad configuration";
    case ERR_PROTOCOL: return "protocol violation by the peer";
    case ERR_CRYPTO: return "cryptographic failure";
    case ERR_OS: return "system call failed";
    case ERR_LIMIT: return "limit reached";
    case ERR_HOST: return "the host lacks something";
    default: return "unknown error";
    }
}
