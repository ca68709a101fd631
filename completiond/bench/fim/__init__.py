"""Fill-in-the-middle quality: holes in HumanEval's solutions, answered, and judged by the problems' own tests."""
