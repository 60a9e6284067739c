// A quiet word when the run ends or asks something while its view is out of sight.

class Notice {
  constructor(stage) {
    this.stage = stage;
  }

  hear() {}

  dismiss() {}

  leave() {}
}
