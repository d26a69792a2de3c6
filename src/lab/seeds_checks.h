// The computations for the rows of `lab seeds`. Each returns whether the claim holds, and the numbers.
#pragma once

#include "lab/seeds.h"

namespace headlight::lab::seeds {

// Numbers of the tutorials (seeds_numbers.cc)
Found cat_weights();        // 2
Found dot_scale_softmax();  // 6
Found not_linear();         // 7
Found potter_weights();     // 8, with potter_by_head()
Found score_table();        // 13
Found sat_weights();        // 14
Found shades();             // 15
Found one_hot();            // 16
Found divided();            // 17
Found scaled_softmax();     // 18
Found vanishing();          // 19
Found kept_spread();        // 25
Found costs();              // 21
Found base_sizes();         // 29
Found equal_parameters();   // 30, 37
Found illustrated();        // 31, 32
Found simple_journey();     // 41, 42, 50
Found trainable_journey();  // 11, 12, 44
Found self_score();         // 51
Found mixture();            // 53

// Laws of the mechanism (seeds_laws.cc)
Found any_distance();     // 1
Found encoder_runs();     // 9, 27
Found module_shapes();    // 22
Found causal_mask();      // 23
Found path_length();      // 20
Found block_runs();       // 34
Found rows_at_once();     // 35
Found heads_apart();      // 36, 47
Found positions();        // 39
Found everyone_counts();  // 43
Found no_future();        // 46
Found self_and_cross();   // 49
Found sums_to_one();      // 52
Found gradients();        // 55

// Rows that train models (seeds_trained.cc)
Found roles_by_training(const LabOptions& options);  // 4
Found one_vector(const LabOptions& options);         // 48

// Run a model; rows report if it is not installed
Found chat_looks_at_cat(const LabOptions& options);   // 10, translation.cc
Found it_looks_at_animal(const LabOptions& options);  // 26 (pronouns.cc)
Found heads_with_names(const LabOptions& options);    // 24, seeds_trained.cc
Found bank_by_head(const LabOptions& options);        // 3, seeds_heads.cc
Found potter_by_head(const LabOptions& options);      // 8, seeds_heads.cc
Found bank_in_context(const LabOptions& options);     // 54, context.cc
[[nodiscard]] inline Found without_model() {
  return {true, "needs the model headlight-en-fr, which was not found"};
}

}  // namespace headlight::lab::seeds
