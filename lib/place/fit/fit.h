/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of the folder: a plan, what fits a node, and on which of its devices and cores. */
#ifndef GANG__PLACE_FIT_H
#define GANG__PLACE_FIT_H

#include "place/fit/affinity.h"
#include "place/fit/bounds.h"
#include "place/fit/choose_devices.h"
#include "place/fit/exclusive.h"
#include "place/fit/filter.h"
#include "place/fit/fit_plan.h"
#include "place/fit/keys.h"
#include "place/fit/mig.h"
#include "place/fit/same_devices.h"
#include "place/fit/scope.h"

#endif
