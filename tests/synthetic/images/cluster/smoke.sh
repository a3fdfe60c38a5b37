#!/bin/bash
# images/steps/checks.sh comes before it.

check "has a shell" command -v sh

verdict
