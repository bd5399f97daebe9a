#!/usr/bin/env node
import "@remat/cli/main";
