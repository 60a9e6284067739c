// Comes with the step panel.
