// What the programs of bench/peers have in common: they are called with a workload and a number of
// threads, time every way their library has of computing it, and print one JSON line for each.
//
//   peer_onnxruntime full_512_64 2
//   {"peer": "onnxruntime", "what": "Attention-23", "version": "1.30.0", "name": "full_512_64", …}
//
// A way whose output is not attention is reported as an error, never as a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "measure/workloads.h"

namespace headlight::peers {

struct Way {
  std::string what;           // "Attention-23"
  std::function<void()> run;  // one whole call on memory that is already there
  ConstTensorView out;        // [batch, head, query, dim] whatever the layout: strides say
  std::string error = {};     // why this way cannot do the workload; run is then not called
};

struct Peer {
  std::string name, version;
  std::vector<Way> ways;
};

// `arguments` are those after the workload and the threads. May throw: the message is the error.
using MakePeer =
    std::function<Peer(measure::WorkloadData& data, int threads, const std::vector<std::string>& arguments)>;

// The body of main(). With --list it prints the names of the workloads, one a line.
int peer_main(int argc, char** argv, const std::string& name, const MakePeer& make);

}  // namespace headlight::peers
