#!/bin/sh
# A ptxas that does not know sm_100. What it calls a cubin is the PTX.
[ "$1" = --version ] && echo "Cuda compilation tools, release 11.8, V11.8.89" && exit
[ "$1" = -arch=sm_100 ] &&
  echo "ptxas fatal   : Value 'sm_100' is not defined for option 'gpu-name'" >&2 && exit 255
cp "$5" "$4"
