/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of the folder: compiled requests, and what the requests of a cluster share. */
#ifndef GANG__REQUEST_H
#define GANG__REQUEST_H

#include "place/request/compiled.h"
#include "place/request/label_count.h"
#include "place/request/mix.h"
#include "place/request/narrow.h"
#include "place/request/shared.h"

#endif
