"""What every layer stands on: results, errors, domains, the clock."""
