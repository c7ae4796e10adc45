# SPDX-License-Identifier: Apache-2.0
# The extension is made from the C headers, which are its description.
from typing import Any

ffi: Any
lib: Any
