/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/http/http_version.h"

#include <curl/curl.h>

const char *http_version_curl(void)
{
    return curl_version_info(CURLVERSION_NOW)->version;
}
